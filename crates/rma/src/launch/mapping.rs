//! Which ranks share a node: the value of `PMI_process_mapping`, read and written.
//!
//! The value is `(vector,(first node,nodes,ranks per node),…)`: blocks of nodes, filled in order; when the blocks are used
//! up before the ranks are, they start over. Nothing here is sized by the number of ranks.

use std::fmt;

/// Where ranks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessMapping {
    blocks: Vec<Block>,
}

/// `nodes` consecutive nodes from `first` with `ranks` ranks each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    first: u32,
    nodes: u32,
    ranks: u32,
}

impl ProcessMapping {
    /// Nodes of `ranks_per_node` ranks each, in order; one node when it is at least the number of ranks.
    ///
    /// # Panics
    /// When a number is 0.
    pub fn regular(size: u32, ranks_per_node: u32) -> Self {
        assert!(size > 0 && ranks_per_node > 0);
        let ranks = ranks_per_node.min(size);
        Self { blocks: vec![Block { first: 0, nodes: size.div_ceil(ranks), ranks }] }
    }

    /// Reads a value.
    ///
    /// # Errors
    /// A clause that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("process mapping {text:?} {why}");
        let mut rest = text
            .strip_prefix("(vector")
            .and_then(|rest| rest.strip_suffix(')'))
            .ok_or_else(|| bad("is not of the form (vector,(node,nodes,ranks),...)"))?;
        let mut blocks = Vec::new();
        while !rest.is_empty() {
            let (block, tail) = rest
                .strip_prefix(",(")
                .and_then(|rest| rest.split_once(')'))
                .ok_or_else(|| bad("has a block that is not of the form (node,nodes,ranks)"))?;
            let numbers: Vec<u32> = block
                .split(',')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .map_err(|_| bad("has a block with something else than numbers"))?;
            let [first, nodes, ranks] = numbers[..] else {
                return Err(bad("has a block that is not three numbers"));
            };
            if nodes == 0 || ranks == 0 {
                return Err(bad("has an empty block"));
            }
            if first.checked_add(nodes).is_none() || nodes.checked_mul(ranks).is_none() {
                return Err(bad("has a block that is too large"));
            }
            blocks.push(Block { first, nodes, ranks });
            rest = tail;
        }
        if blocks.is_empty() { Err(bad("has no block")) } else { Ok(Self { blocks }) }
    }

    /// The node of a rank.
    pub fn node(&self, rank: u32) -> u32 {
        let round: u64 = self.blocks.iter().map(Block::len).sum();
        let mut left = u64::from(rank) % round;
        for block in &self.blocks {
            if left < block.len() {
                // The quotient is below `nodes`, and `first + nodes` fits 32 bits by construction.
                return block.first + (left / u64::from(block.ranks)) as u32;
            }
            left -= block.len();
        }
        unreachable!("a rank modulo the sum of all blocks lies in one of them")
    }

    /// Whether all of `size` ranks are on one node.
    pub fn is_one_node(&self, size: u32) -> bool {
        let round: u64 = self.blocks.iter().map(Block::len).sum();
        let ranks = u64::from(size).min(round) as u32;
        let first = self.node(0);
        (1..ranks).all(|rank| self.node(rank) == first)
    }
}

impl Block {
    fn len(&self) -> u64 {
        u64::from(self.nodes) * u64::from(self.ranks)
    }
}

impl fmt::Display for ProcessMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(vector")?;
        for Block { first, nodes, ranks } in &self.blocks {
            write!(f, ",({first},{nodes},{ranks})")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(text: &str, size: u32) -> Vec<u32> {
        let mapping = ProcessMapping::parse(text).unwrap();
        assert_eq!(mapping.to_string(), text);
        (0..size).map(|rank| mapping.node(rank)).collect()
    }

    #[test]
    fn blocks_are_filled_in_order_and_start_over() {
        assert_eq!(nodes("(vector,(0,1,4))", 4), [0, 0, 0, 0]);
        assert_eq!(nodes("(vector,(0,2,1))", 5), [0, 1, 0, 1, 0]);
        assert_eq!(nodes("(vector,(0,1,2),(3,2,1))", 6), [0, 0, 3, 4, 0, 0]);
    }

    #[test]
    fn regular_mappings() {
        for (size, per_node, text, one) in [
            (4, 9, "(vector,(0,1,4))", true),
            (4, 2, "(vector,(0,2,2))", false),
            (5, 2, "(vector,(0,3,2))", false),
            (1, 1, "(vector,(0,1,1))", true),
        ] {
            let mapping = ProcessMapping::regular(size, per_node);
            assert_eq!(mapping.to_string(), text);
            assert_eq!(mapping.is_one_node(size), one, "{text}");
            assert!((0..size).all(|rank| mapping.node(rank) == rank / per_node));
        }
    }

    #[test]
    fn malformed_mappings_are_refused() {
        for bad in [
            "",
            "(",
            "()",
            "(vector)",
            "(vector,)",
            "(vector,())",
            "(vector,(0,1))",
            "(vector,(0,1,2,3))",
            "(vector,(0,0,1))",
            "(vector,(0,1,0))",
            "(vector,(0,1,x))",
            "(vector,(0,-1,1))",
            "(vector,(0,1,1)",
            "(vector,(0,1,1)),",
            "(vector(0,1,1))",
            "(vector,(4294967295,1,1))",
            "(vector,(0,65536,65536))",
        ] {
            assert!(ProcessMapping::parse(bad).is_err(), "{bad}");
        }
    }
}
