//! The identity of this process among its peers of the node: the names of its sockets, and proofs that it belongs to
//! the job.
//!
//! Invariants: the secret leaves this file only as the key of a keyed hash. Names are in no file system, so
//! nothing is left behind by a process that is killed. Everything that tells two names apart is inside the
//! hash: some names of a job, which `/proc/net/unix` shows to all, give no clue to the others.

use hmac_sha256::HMAC;
use rma_core::ids::Peer;
use rustix::net::SocketAddrUnix;
use std::{fmt, io};

/// Bytes of a proof.
pub(crate) const PROOF_LEN: usize = 32;

/// Names that a socket may have. The first serves unless another process has taken it, which takes the secret or 2¹²⁸ guesses.
const NAMES: u8 = 8;

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Service {
    /// Connections of the channel.
    Channel = 0,
    /// Descriptors for segments.
    Mailbox = 1,
}

/// A job, as its own processes know it.
#[derive(Clone)]
pub(crate) struct Identity {
    job: String,
    secret: [u8; 32],
}

impl Identity {
    pub(crate) fn new(job: String, secret: [u8; 32]) -> Self {
        Self { job, secret }
    }

    /// The addresses that the socket of a process of this job may have, in the order in which they are tried.
    pub(crate) fn addresses(
        &self,
        service: Service,
        peer: Peer,
    ) -> impl Iterator<Item = io::Result<SocketAddrUnix>> {
        (0..NAMES).map(move |attempt| self.address(service, peer, attempt))
    }

    fn address(&self, service: Service, peer: Peer, attempt: u8) -> io::Result<SocketAddrUnix> {
        let [a, b, c, d] = peer.0.to_le_bytes();
        let hash = self.proof(&[b'n', b'a', b'm', b'e', service as u8, attempt, a, b, c, d]);
        let digits: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(SocketAddrUnix::new_abstract_name(format!("rma-{digits}").as_bytes())?)
    }

    /// Proof that `message` comes from a process of this job.
    pub(crate) fn proof(&self, message: &[u8]) -> [u8; PROOF_LEN] {
        self.hash(message).finalize()
    }

    /// Whether `proof` is that of `message`. How long it takes tells nothing about where the two differ.
    pub(crate) fn is_proof(&self, message: &[u8], proof: &[u8]) -> bool {
        <&[u8; PROOF_LEN]>::try_from(proof).is_ok_and(|proof| self.hash(message).finalize_verify(proof))
    }

    fn hash(&self, message: &[u8]) -> HMAC {
        let mut hash = HMAC::new(self.secret);
        // Every part has a length, so that no two lists of parts hash alike.
        for part in [b"rma-ch-shm", self.job.as_bytes(), message] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("job", &self.job).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_hold_for_one_message_of_one_job_only() {
        let identity = Identity::new("job".to_owned(), [7; 32]);
        let proof = identity.proof(b"message");
        assert!(identity.is_proof(b"message", &proof));
        assert!(!identity.is_proof(b"massage", &proof));
        assert!(!identity.is_proof(b"message", &proof[..31]));
        assert!(!Identity::new("job2".to_owned(), [7; 32]).is_proof(b"message", &proof));
        assert!(!Identity::new("job".to_owned(), [8; 32]).is_proof(b"message", &proof));
        assert_ne!(
            Identity::new("a".to_owned(), [7; 32]).proof(b"bc"),
            Identity::new("ab".to_owned(), [7; 32]).proof(b"c")
        );
    }

    #[test]
    fn names_share_nothing_and_the_secret_is_not_shown() {
        let identities = [("x".repeat(5000), 1), ("x".repeat(5001), 1), ("x".repeat(5000), 2)]
            .map(|(job, secret)| Identity::new(job, [secret; 32]));
        let mut parts = Vec::new();
        for identity in &identities {
            for peer in [Peer(0), Peer(1), Peer(u32::MAX)] {
                for service in [Service::Channel, Service::Mailbox] {
                    for address in identity.addresses(service, peer) {
                        let name = address.unwrap().abstract_name().unwrap().to_vec();
                        assert_eq!((&name[..4], name.len()), (&b"rma-"[..], 36));
                        parts.extend([name[4..20].to_vec(), name[20..].to_vec()]);
                    }
                }
            }
        }
        let count = parts.len();
        parts.sort();
        parts.dedup();
        // No half of a name is that of another one: nothing in it stands for the job, the process or the service alone.
        assert_eq!((parts.len(), count), (count, 2 * 3 * 3 * 2 * usize::from(NAMES)));
        assert!(!format!("{:?}", identities[0]).contains('1'));
    }
}
