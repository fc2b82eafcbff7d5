//! HMAC-SHA-256: what proofs and tags are made of. Which library computes it is a feature, since those that use a
//! processor's instructions for SHA-256 are eleven packages; both give the same bytes.

#[cfg(feature = "accelerated")]
mod accelerated;
#[cfg(any(test, not(feature = "accelerated")))]
mod portable;

#[cfg(feature = "accelerated")]
pub(crate) use accelerated::AcceleratedMac as Mac;
#[cfg(not(feature = "accelerated"))]
pub(crate) use portable::PortableMac as Mac;

#[cfg(test)]
mod tests;
