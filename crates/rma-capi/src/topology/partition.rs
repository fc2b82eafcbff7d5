//! Ranks of a graph placed by node: each node in turn gets vertices that grow from one along their edges.

use super::reorder::{is_parted, places};
use std::cmp::Reverse;
use std::ffi::c_int;

/// The vertex of each rank, from all edges, `[from, to, weight]`, and the node of each rank. `None` when ranks stay as they are: there is
/// one node, or a rank a node, or edges of no less weight would lead from node to node.
pub(crate) fn by_edges(edges: &[[c_int; 3]], nodes: &[u32]) -> Option<Vec<u32>> {
    if !is_parted(nodes) {
        return None;
    }
    let (places, counts) = places(nodes);
    let parts = grown(&neighbors(edges, nodes.len()), &counts)?;
    let between = |part: &dyn Fn(usize) -> usize| -> u64 {
        let is_between = |[from, to, _]: &&[c_int; 3]| part(*from as usize) != part(*to as usize);
        edges.iter().filter(is_between).map(|[_, _, weight]| *weight as u64).sum()
    };
    if between(&|vertex| parts[vertex]) >= between(&|vertex| places[vertex].0) {
        return None;
    }
    // The vertices of a node go to its ranks in ascending order.
    let mut of_node = vec![Vec::new(); counts.len()];
    parts.iter().zip(0u32..).for_each(|(node, vertex)| of_node[*node].push(vertex));
    Some(places.into_iter().map(|(node, within)| of_node[node][within as usize]).collect())
}

/// For each vertex those at the other ends of its edges, and the edges' weights.
fn neighbors(edges: &[[c_int; 3]], vertices: usize) -> Vec<Vec<(usize, u64)>> {
    let mut all = vec![Vec::new(); vertices];
    for [from, to, weight] in edges.iter().filter(|[from, to, _]| from != to) {
        all[*from as usize].push((*to as usize, *weight as u64));
        all[*to as usize].push((*from as usize, *weight as u64));
    }
    all
}

/// The node of each vertex: a node takes the one with the heaviest edges into it, and of these, or when there is none, the one with the
/// lightest to vertices that are not taken.
fn grown(neighbors: &[Vec<(usize, u64)>], counts: &[u32]) -> Option<Vec<usize>> {
    let mut parts = vec![None; neighbors.len()];
    let mut open: Vec<u64> = neighbors.iter().map(|all| all.iter().map(|(_, weight)| weight).sum()).collect();
    for (node, count) in counts.iter().enumerate() {
        let mut within = vec![0u64; neighbors.len()];
        for _ in 0..*count {
            let free = (0..neighbors.len()).filter(|vertex| parts[*vertex].is_none());
            let next =
                free.max_by_key(|vertex| (within[*vertex], Reverse(open[*vertex]), Reverse(*vertex)))?;
            parts[next] = Some(node);
            for (vertex, weight) in &neighbors[next] {
                within[*vertex] += weight;
                open[*vertex] -= weight;
            }
        }
    }
    parts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid whose vertices are numbered row by row.
    fn grid(rows: c_int, columns: c_int) -> Vec<[c_int; 3]> {
        let of = |vertex: c_int| {
            let right = ((vertex + 1) % columns != 0).then_some([vertex, vertex + 1, 1]);
            let down = (vertex + columns < rows * columns).then_some([vertex, vertex + columns, 1]);
            right.into_iter().chain(down)
        };
        (0..rows * columns).flat_map(of).collect()
    }

    #[test]
    fn vertices_with_edges_among_themselves_share_a_node() {
        // Two pairs across two nodes.
        assert_eq!(by_edges(&[[0, 2, 1], [3, 1, 1]], &[0, 0, 2, 2]).unwrap(), [0, 2, 1, 3]);
        // A ring of ranks that are dealt out to nodes in turn.
        let ring: Vec<_> = (0..8).map(|rank| [rank, (rank + 1) % 8, 1]).collect();
        assert_eq!(by_edges(&ring, &[0, 1, 0, 1, 0, 1, 0, 1]).unwrap(), [0, 4, 1, 5, 2, 6, 3, 7]);
        // The heavier edges decide.
        let square = [[0, 1, 1], [2, 3, 1], [0, 3, 5], [1, 2, 5]];
        assert_eq!(by_edges(&square, &[0, 0, 1, 1]).unwrap(), [0, 3, 1, 2]);
        // Nodes of different sizes, rows of a grid turned into columns.
        let order = by_edges(&grid(4, 2), &[0, 1, 0, 1, 0, 1, 0, 1]).unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..8) && order != [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(by_edges(&[[0, 3, 1], [3, 1, 1]], &[0, 0, 0, 1]).unwrap(), [0, 2, 3, 1]);
    }

    #[test]
    fn ranks_stay_where_nothing_is_won() {
        assert_eq!(by_edges(&grid(2, 4), &[0, 0, 0, 0, 1, 1, 1, 1]).map(|order| order.len()), Some(8));
        assert_eq!(by_edges(&grid(4, 2), &[0, 0, 0, 0, 1, 1, 1, 1]), None);
        assert_eq!(by_edges(&grid(2, 2), &[0, 0, 0, 0]), None);
        assert_eq!(by_edges(&grid(2, 2), &[0, 1, 2, 3]), None);
        assert_eq!(by_edges(&[[1, 1, 7]], &[0, 1, 0]), None);
        assert_eq!(by_edges(&[], &[]), None);
    }
}
