//! Who this process is to its siblings: the names of its sockets, and proofs that it belongs to the job.
//!
//! Invariants: the secret leaves this file only as the key of a keyed hash. Names are in no file system, so nothing is left
//! behind by a process that is killed.

use hmac::{Hmac, KeyInit, Mac};
use rma_core::ids::Peer;
use rustix::net::SocketAddrUnix;
use sha2::Sha256;
use std::{fmt, io};

/// Bytes of a proof.
pub(crate) const PROOF_LEN: usize = 32;

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Connections of the channel.
    Channel,
    /// Descriptors for segments.
    Mailbox,
}

/// A job, as those know it who belong to it.
#[derive(Clone)]
pub(crate) struct Identity {
    job: String,
    secret: [u8; 32],
}

impl Identity {
    pub(crate) fn new(job: String, secret: [u8; 32]) -> Self {
        Self { job, secret }
    }

    /// The address of the socket of a process of this job.
    pub(crate) fn address(&self, service: Service, peer: Peer) -> io::Result<SocketAddrUnix> {
        // Eight bytes tell the jobs of a node apart, and no other user can guess the name before it is taken.
        let hash = self.proof(b"name");
        let mut tag = [0; 8];
        tag.copy_from_slice(&hash[..8]);
        let service = match service {
            Service::Channel => "channel",
            Service::Mailbox => "mailbox",
        };
        let name = format!("rma-{:016x}-{peer}-{service}", u64::from_be_bytes(tag));
        Ok(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
    }

    /// Proof that `message` comes from a process of this job.
    pub(crate) fn proof(&self, message: &[u8]) -> [u8; PROOF_LEN] {
        self.hash(message).finalize().into_bytes().into()
    }

    /// Whether `proof` is that of `message`. How long it takes tells nothing about where the two differ.
    pub(crate) fn is_proof(&self, message: &[u8], proof: &[u8]) -> bool {
        self.hash(message).verify_slice(proof).is_ok()
    }

    fn hash(&self, message: &[u8]) -> Hmac<Sha256> {
        let mut hash = Hmac::new_from_slice(&self.secret).expect("a key of any length will do");
        // Every part has a length, so that no two lists of parts hash alike.
        for part in [b"rma-ch-shm", self.job.as_bytes(), message] {
            hash.update(&(part.len() as u64).to_le_bytes());
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
    fn names_differ_by_job_peer_and_service_and_the_secret_is_not_shown() {
        let one = Identity::new("x".repeat(5000), [1; 32]);
        let two = Identity::new("x".repeat(5001), [1; 32]);
        let mut names = Vec::new();
        for identity in [&one, &two] {
            for peer in [Peer(0), Peer(u32::MAX)] {
                for service in [Service::Channel, Service::Mailbox] {
                    names.push(identity.address(service, peer).unwrap().abstract_name().unwrap().to_vec());
                }
            }
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 8);
        assert!(!format!("{one:?}").contains('1'));
    }
}
