//! The channel and the segments between real processes: contact from all sides, sudden death, and nothing left behind.
//!
//! Children are this test binary, started again to run only [`child`], which takes its part from the environment.

mod death;
mod family;
mod meeting;
mod segments;
mod station;

use family::Part;

/// Does nothing in the parent; in a child it plays a part.
#[test]
fn child() {
    match Part::from_env() {
        None => {}
        Some(Part::Meet) => meeting::meet(),
        Some(Part::Stream) => death::stream(),
        Some(Part::Linger) => death::linger(),
        Some(Part::Exchange) => segments::exchange(),
        Some(Part::Tiny) => segments::tiny(),
    }
}
