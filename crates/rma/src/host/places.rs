//! Where processes are: which share a node, and whether the job is on one machine at all.
//!
//! Knows the launcher's mapping and virtual nodes, nothing else; no state per process.

use crate::pmi::ProcessMapping;
use rma_core::host::Locality;
use rma_core::ids::Peer;

/// The places of a job's processes, seen from one of them.
#[derive(Clone, Debug)]
pub struct Places {
    me: Peer,
    size: u32,
    mapping: ProcessMapping,
    ranks_per_node: Option<u32>,
}

impl Places {
    /// The places of a job of `size` processes. With `ranks_per_node`, so many consecutive processes make a virtual node,
    /// and processes of two virtual nodes share nothing.
    pub fn new(me: Peer, size: u32, mapping: ProcessMapping, ranks_per_node: Option<u32>) -> Self {
        Self { me, size, mapping, ranks_per_node }
    }

    /// This process.
    pub fn me(&self) -> Peer {
        self.me
    }

    /// Where a process is.
    pub fn locality(&self, peer: Peer) -> Locality {
        if peer == self.me {
            Locality::Own
        } else if self.node(peer) == self.node(self.me) {
            Locality::Node
        } else {
            Locality::Remote
        }
    }

    /// The same without virtual nodes.
    pub fn physical(&self) -> Self {
        Self { ranks_per_node: None, ..self.clone() }
    }

    /// Whether all processes are on one machine, virtual nodes or not.
    pub fn is_one_machine(&self) -> bool {
        self.mapping.is_one_node(self.size)
    }

    /// Whether a process is on this one's machine, virtual nodes or not.
    pub fn is_on_machine(&self, peer: Peer) -> bool {
        self.mapping.node(peer.0) == self.mapping.node(self.me.0)
    }

    /// Whether some process is on this one's node, besides itself.
    pub fn has_node_peers(&self) -> bool {
        self.others().any(|peer| self.locality(peer) == Locality::Node)
    }

    /// Whether some process is on another node.
    pub fn has_remotes(&self) -> bool {
        self.others().any(|peer| self.locality(peer) == Locality::Remote)
    }

    /// Number of processes on this one's machine, itself among them, virtual nodes or not.
    pub fn on_this_machine(&self) -> usize {
        let here = self.mapping.node(self.me.0);
        (0..self.size).filter(|peer| self.mapping.node(*peer) == here).count()
    }

    fn others(&self) -> impl Iterator<Item = Peer> {
        let me = self.me;
        (0..self.size).map(Peer).filter(move |peer| *peer != me)
    }

    fn node(&self, peer: Peer) -> (u32, u32) {
        (self.mapping.node(peer.0), self.ranks_per_node.map_or(0, |ranks| peer.0 / ranks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_nodes_share_the_cores_of_their_machine() {
        for (machines, virtual_nodes, expected) in
            [(1, None, 6), (1, Some(1), 6), (2, Some(1), 3), (3, None, 2)]
        {
            let mapping = ProcessMapping::regular(6, 6 / machines);
            let places = Places::new(Peer(4), 6, mapping, virtual_nodes);
            assert_eq!(places.on_this_machine(), expected, "{machines} {virtual_nodes:?}");
        }
    }

    #[test]
    fn nodes_are_those_of_the_launcher_cut_into_virtual_ones() {
        let local = |me, mapping: &str, per_node| {
            let places = Places::new(Peer(me), 6, ProcessMapping::parse(mapping).unwrap(), per_node);
            let letters = (0..6).map(|peer| match places.locality(Peer(peer)) {
                Locality::Own => 'o',
                Locality::Node => 'n',
                Locality::Remote => 'r',
            });
            (
                letters.collect::<String>(),
                places.is_one_machine(),
                places.has_node_peers(),
                places.has_remotes(),
            )
        };
        assert_eq!(local(1, "(vector,(0,1,6))", None), ("nonnnn".to_owned(), true, true, false));
        assert_eq!(local(1, "(vector,(0,2,3))", None), ("nonrrr".to_owned(), false, true, true));
        assert_eq!(local(4, "(vector,(0,1,6))", Some(2)), ("rrrron".to_owned(), true, true, true));
        assert_eq!(local(2, "(vector,(0,2,3))", Some(2)), ("rrorrr".to_owned(), false, false, true));
        assert_eq!(local(0, "(vector,(0,1,6))", Some(1)), ("orrrrr".to_owned(), true, false, true));
    }
}
