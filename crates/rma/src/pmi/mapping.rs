//! Which ranks share a node: the value of `PMI_process_mapping`, read and written.
//!
//! The value is `(vector,BLOCK,…)`. A block is `(first node,nodes,ranks per node)`, or the number of a node for one rank on
//! it; `[BLOCK,…]xN` stands for N repetitions, which newer launchers write. Blocks are filled in order; when they are used
//! up before the ranks are, they start over. Nothing here is sized by the number of ranks.

use std::fmt;

/// Where ranks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessMapping {
    runs: Vec<Run>,
}

/// Blocks that are repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    blocks: Vec<NodeBlock>,
    times: u32,
}

/// `nodes` consecutive nodes from `first` with `ranks` ranks each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NodeBlock {
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
        Self { runs: vec![Run::once(NodeBlock { first: 0, nodes: size.div_ceil(ranks), ranks })] }
    }

    /// The nodes of all ranks, in rank order.
    ///
    /// # Panics
    /// When there is no rank.
    pub fn of_nodes(nodes: &[u32]) -> Self {
        assert!(!nodes.is_empty());
        let nodes = &nodes[..period(nodes)];
        let mut blocks: Vec<NodeBlock> = Vec::new();
        for same in nodes.chunk_by(|a, b| a == b) {
            let (first, ranks) = (same[0], same.len() as u32);
            match blocks.last_mut() {
                Some(last) if last.ranks == ranks && last.first + last.nodes == first => last.nodes += 1,
                _ => blocks.push(NodeBlock { first, nodes: 1, ranks }),
            }
        }
        Self { runs: blocks.into_iter().map(Run::once).collect() }
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
        let mut runs = Vec::new();
        while !rest.is_empty() {
            rest = rest.strip_prefix(',').ok_or_else(|| bad("has blocks without a comma between"))?;
            let (run, tail) = Run::parse(rest).map_err(bad)?;
            runs.push(run);
            rest = tail;
        }
        let len = runs.iter().try_fold(0u64, |sum, run| sum.checked_add(run.len()?));
        match len {
            Some(0) => Err(bad("has no block")),
            Some(_) => Ok(Self { runs }),
            None => Err(bad("has blocks that are too large")),
        }
    }

    /// The node of a rank.
    pub fn node(&self, rank: u32) -> u32 {
        let mut left = u64::from(rank) % self.len();
        for run in &self.runs {
            let len = run.len().expect("the sum of all was checked when the value was read");
            if left < len {
                return run.node(left);
            }
            left -= len;
        }
        unreachable!("a rank modulo the sum of all blocks lies in one of them")
    }

    /// Whether all of `size` ranks are on one node.
    pub fn is_one_node(&self, size: u32) -> bool {
        let ranks = u64::from(size).min(self.len()) as u32;
        let first = self.node(0);
        (1..ranks).all(|rank| self.node(rank) == first)
    }

    /// Ranks after which the blocks start over.
    fn len(&self) -> u64 {
        self.runs.iter().filter_map(Run::len).sum()
    }
}

/// Length of the shortest beginning that, repeated, gives the whole: the whole less its longest end that is also a beginning.
fn period(nodes: &[u32]) -> usize {
    let mut ends = vec![0; nodes.len()];
    for at in 1..nodes.len() {
        let mut end: usize = ends[at - 1];
        while end > 0 && nodes[at] != nodes[end] {
            end = ends[end - 1];
        }
        ends[at] = end + usize::from(nodes[at] == nodes[end]);
    }
    // One block for all ranks says more than a block that starts over.
    match nodes.len() - ends[nodes.len() - 1] {
        1 => nodes.len(),
        period => period,
    }
}

impl Run {
    fn once(block: NodeBlock) -> Self {
        Self { blocks: vec![block], times: 1 }
    }

    /// Reads the block, or the repeated blocks, that the text begins with; answers the rest too.
    fn parse(text: &str) -> Result<(Self, &str), &'static str> {
        let Some(repeated) = text.strip_prefix('[') else {
            let (block, rest) = NodeBlock::parse(text)?;
            return Ok((Self::once(block), rest));
        };
        let (inner, rest) =
            repeated.split_once("]x").ok_or("has a repetition that is not of the form [...]xN")?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let times = rest[..digits].parse().map_err(|_| "repeats blocks an unknown number of times")?;
        if times == 0 {
            return Err("repeats blocks no time at all");
        }
        let (block, mut left) = NodeBlock::parse(inner)?;
        let mut blocks = vec![block];
        while !left.is_empty() {
            let (block, tail) =
                NodeBlock::parse(left.strip_prefix(',').ok_or("has blocks without a comma between")?)?;
            blocks.push(block);
            left = tail;
        }
        Ok((Self { blocks, times }, &rest[digits..]))
    }

    /// Ranks of all repetitions, if that is a number.
    fn len(&self) -> Option<u64> {
        self.once_len().checked_mul(u64::from(self.times))
    }

    /// Ranks of one repetition. A block has at most 2^32, and a value fewer blocks than that.
    fn once_len(&self) -> u64 {
        self.blocks.iter().map(NodeBlock::len).sum()
    }

    /// The node of the rank at this place in the run.
    fn node(&self, place: u64) -> u32 {
        let mut left = place % self.once_len();
        for block in &self.blocks {
            if left < block.len() {
                // The quotient is below `nodes`, and `first + nodes` fits 32 bits by construction.
                return block.first + (left / u64::from(block.ranks)) as u32;
            }
            left -= block.len();
        }
        unreachable!("a place modulo the sum of all blocks lies in one of them")
    }
}

impl NodeBlock {
    /// Reads the block that the text begins with; answers the rest too.
    fn parse(text: &str) -> Result<(Self, &str), &'static str> {
        let Some(inner) = text.strip_prefix('(') else {
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let first: u32 = text[..digits]
                .parse()
                .map_err(|_| "has a block that is not of the form (node,nodes,ranks)")?;
            let block = Self { first, nodes: 1, ranks: 1 };
            return Ok((block.checked()?, &text[digits..]));
        };
        let (block, rest) =
            inner.split_once(')').ok_or("has a block that is not of the form (node,nodes,ranks)")?;
        let numbers: Vec<u32> = block
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| "has a block with something else than numbers")?;
        let [first, nodes, ranks] = numbers[..] else {
            return Err("has a block that is not three numbers");
        };
        Ok((Self { first, nodes, ranks }.checked()?, rest))
    }

    fn checked(self) -> Result<Self, &'static str> {
        if self.nodes == 0 || self.ranks == 0 {
            return Err("has an empty block");
        }
        if self.first.checked_add(self.nodes).is_none() || self.nodes.checked_mul(self.ranks).is_none() {
            return Err("has a block that is too large");
        }
        Ok(self)
    }

    fn len(&self) -> u64 {
        u64::from(self.nodes) * u64::from(self.ranks)
    }
}

impl fmt::Display for ProcessMapping {
    /// In the form without short cuts, but for repetitions, that every reader knows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(vector")?;
        for Run { blocks, times } in &self.runs {
            let blocks: Vec<_> = blocks
                .iter()
                .map(|NodeBlock { first, nodes, ranks }| format!("({first},{nodes},{ranks})"))
                .collect();
            match times {
                1 => write!(f, ",{}", blocks.join(","))?,
                times => write!(f, ",[{}]x{times}", blocks.join(","))?,
            }
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
    fn newer_launchers_shorten_and_repeat() {
        let nodes = |text, size| {
            let mapping = ProcessMapping::parse(text).unwrap();
            assert_eq!(ProcessMapping::parse(&mapping.to_string()), Ok(mapping.clone()));
            (0..size).map(|rank| mapping.node(rank)).collect::<Vec<_>>()
        };
        assert_eq!(nodes("(vector,0)", 2), [0, 0]);
        assert_eq!(nodes("(vector,1,2,3,0)", 4), [1, 2, 3, 0]);
        assert_eq!(nodes("(vector,0,(1,1,2))", 3), [0, 1, 1]);
        assert_eq!(nodes("(vector,[(0,2,2)]x2)", 9), [0, 0, 1, 1, 0, 0, 1, 1, 0]);
        assert_eq!(nodes("(vector,[0,(1,1,2)]x2,7)", 8), [0, 1, 1, 0, 1, 1, 7, 0]);
        assert!(ProcessMapping::parse("(vector,[0]x4)").unwrap().is_one_node(4));
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
    fn mappings_of_nodes_are_short() {
        for (of, text) in [
            (&[0, 0, 0][..], "(vector,(0,1,3))"),
            (&[0, 1, 0, 1, 0], "(vector,(0,2,1))"),
            (&[0, 0, 1, 1, 2, 2], "(vector,(0,3,2))"),
            (&[0, 1, 1, 0, 2], "(vector,(0,1,1),(1,1,2),(0,1,1),(2,1,1))"),
            (&[3], "(vector,(3,1,1))"),
        ] {
            let mapping = ProcessMapping::of_nodes(of);
            assert_eq!(mapping.to_string(), text);
            assert!((0..).zip(of).all(|(rank, node)| mapping.node(rank) == *node), "{text}");
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
            "(vector,x)",
            "(vector,0 1)",
            "(vector,01,)",
            "(vector,4294967295)",
            "(vector,[0]x0)",
            "(vector,[0]x)",
            "(vector,[0]x-1)",
            "(vector,[]x2)",
            "(vector,[0x2)",
            "(vector,[[0]x2]x2)",
            "(vector,[0,]x2)",
            "(vector,0)0)",
            "(vector,[(0,65535,65535),(0,65535,65535),(0,65535,65535)]x4294967295)",
        ] {
            assert!(ProcessMapping::parse(bad).is_err(), "{bad}");
        }
    }
}
