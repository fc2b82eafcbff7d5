//! Ranks of a grid placed by node: the cells of a node are a block, with as few neighbors in other nodes as a block of its size can
//! have.

use std::collections::HashMap;

/// The cell of each rank, from the node of each. `None` when ranks stay as they are: there is one node, or a rank a node, or the
/// nodes differ in size, or no block of that size fits.
pub(crate) fn by_node(dims: &[u32], nodes: &[u32]) -> Option<Vec<u32>> {
    let (places, counts) = places(nodes);
    let each = *counts.first()?;
    if counts.len() < 2 || each < 2 || counts.iter().any(|count| *count != each) {
        return None;
    }
    let mut best = None;
    blocks(dims, each, &mut Vec::new(), &mut best);
    let (_, block) = best?;
    let grid: Vec<u32> = dims.iter().zip(&block).map(|(dim, side)| dim / side).collect();
    let cell = |(node, within): (usize, u32)| {
        let (mut node, mut within) = (node as u32, within);
        let (mut cell, mut weight) = (0, 1);
        for place in (0..dims.len()).rev() {
            let coord = node % grid[place] * block[place] + within % block[place];
            node /= grid[place];
            within /= block[place];
            cell += coord * weight;
            weight *= dims[place];
        }
        cell
    };
    Some(places.into_iter().map(cell).collect())
}

/// Whether ranks lie in more than one node, and some in the same.
pub(crate) fn is_parted(nodes: &[u32]) -> bool {
    let (_, counts) = places(nodes);
    counts.len() > 1 && counts.len() < nodes.len()
}

/// For each rank the number of its node, in the order of first ranks, and of the ranks of it before this one; the ranks of each.
pub(super) fn places(nodes: &[u32]) -> (Vec<(usize, u32)>, Vec<u32>) {
    let (mut numbers, mut counts) = (HashMap::new(), Vec::new());
    let place = |name| {
        let node = *numbers.entry(name).or_insert_with(|| {
            counts.push(0);
            counts.len() - 1
        });
        counts[node] += 1;
        (node, counts[node] - 1)
    };
    let places = nodes.iter().map(place).collect();
    (places, counts)
}

/// The block with the fewest faces towards other nodes, of those that fill the grid.
fn blocks(dims: &[u32], rest: u32, sides: &mut Vec<u32>, best: &mut Option<(u64, Vec<u32>)>) {
    let Some(dim) = dims.get(sides.len()) else {
        if rest == 1 {
            let cells: u64 = sides.iter().map(|side| u64::from(*side)).product();
            let faces = |(side, dim): (&u32, &u32)| if side < dim { cells / u64::from(*side) } else { 0 };
            let faces = sides.iter().zip(dims).map(faces).sum();
            if best.as_ref().is_none_or(|(fewest, _)| faces < *fewest) {
                *best = Some((faces, sides.clone()));
            }
        }
        return;
    };
    for side in (1..=rest.min(*dim)).filter(|side| rest.is_multiple_of(*side) && dim.is_multiple_of(*side)) {
        sides.push(side);
        blocks(dims, rest / side, sides, best);
        sides.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_become_blocks() {
        // Sixteen nodes of four ranks: squares in a square.
        let nodes: Vec<u32> = (0..64).map(|rank| rank / 4 * 4).collect();
        let cells = by_node(&[8, 8], &nodes).unwrap();
        assert_eq!(cells[..4], [0, 1, 8, 9]);
        assert_eq!(cells[60..], [54, 55, 62, 63]);
        let mut sorted = cells.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..64), "each cell once");
        // Ranks dealt out to two nodes in turn.
        assert_eq!(by_node(&[2, 2], &[0, 1, 0, 1]).unwrap(), [0, 2, 1, 3]);
    }

    #[test]
    fn what_is_not_even_stays() {
        for (dims, nodes) in [
            (&[4][..], &[0, 0, 0, 0][..]),
            (&[4], &[0, 1, 2, 3]),
            (&[4], &[0, 0, 0, 1]),
            (&[3, 2], &[0, 0, 0, 0, 4, 4]),
            (&[], &[0]),
        ] {
            assert_eq!(by_node(dims, nodes), None);
        }
        // Two nodes of three: along the dimension of three.
        assert_eq!(by_node(&[3, 2], &[0, 0, 0, 3, 3, 3]).unwrap(), [0, 2, 4, 1, 3, 5]);
        assert_eq!(by_node(&[5, 2], &[0; 0]), None);
    }
}
