//! What the ranks that make a window tell each other of themselves, in numbers of which each rank learns the least.
//!
//! A rank whose arguments are wrong, or that cannot make its part, says which rank it is and the class of its error. The first of them is
//! what all others name. A good rank says what kind of window it makes.

use super::Flavor;
use crate::config;
use crate::error::{Error, ErrorClass};
use crate::ids::Rank;

/// Set in the word of a rank that is good, so that any fault is less.
const GOOD: u64 = 1 << 63;
/// Where the kind of window stands, in the word of a good rank and above the configuration's in that of what must be alike.
const FLAVOR_OF_GOOD: u32 = 32;
const FLAVOR_OF_ALIKE: u32 = 62;

/// What a rank says of itself.
pub(crate) fn word(me: Rank, flavor: Flavor, fault: Option<&Error>) -> u64 {
    match fault {
        None => GOOD | (flavor as u64) << FLAVOR_OF_GOOD | u64::from(me.0),
        Some(error) => u64::from(me.0) << 32 | error.class() as u64,
    }
}

/// The error of the other ranks when the first that is not good had a bad argument.
pub(crate) fn bad_argument(least: u64, call: &'static str) -> Option<Error> {
    let (rank, class) = first_fault(least)?;
    let cause = format!("rank {rank} gave a bad argument ({class}), so no window was made");
    Some(Error::new(ErrorClass::Other, call, cause).about(rank))
}

/// The error of the other ranks when it could not make its part.
pub(crate) fn no_part(least: &[u64], call: &'static str) -> Option<Error> {
    let (rank, class) = first_fault(least.first().copied().unwrap_or_default())?;
    let cause = format!("rank {rank} could not make its part ({class}), so no window was made");
    Some(Error::new(class, call, cause).about(rank))
}

/// The first rank that is not good, and the class of its error.
fn first_fault(least: u64) -> Option<(Rank, ErrorClass)> {
    let class = || ErrorClass::with_value(least as u32 as i32).unwrap_or(ErrorClass::Other);
    (least & GOOD == 0).then(|| (Rank((least >> 32) as u32), class()))
}

/// What must be the same on all ranks.
pub(crate) fn alike(configuration: u64, flavor: Flavor) -> u64 {
    configuration | (flavor as u64) << FLAVOR_OF_ALIKE
}

/// What to say when it is not: of this rank's, of the least and the greatest of these words, and of the first of [`word`].
pub(crate) fn difference(own: (u64, Flavor), least: u64, greatest: u64, first: u64) -> Option<String> {
    let configuration = |word: u64| word & ((1 << FLAVOR_OF_ALIKE) - 1);
    if let Some(cause) = config::difference(own.0, configuration(least), configuration(greatest)) {
        return Some(cause);
    }
    let [lowest, highest] = [least, greatest].map(|word| call_of(word >> FLAVOR_OF_ALIKE));
    // A rank with a bad argument does not know what it would have made.
    if lowest == highest || first_fault(first).is_some() {
        return None;
    }
    let (own, first) = (call_of(own.1 as u64), Rank(first as u32));
    let others = match own == lowest {
        true => format!("as does rank {first}, and another one {highest}"),
        false => format!("and rank {first} {lowest}"),
    };
    Some(format!("this rank calls {own}, {others}: all ranks of a group have to make the same call"))
}

fn call_of(flavor: u64) -> &'static str {
    ["win_create", "win_allocate", "win_allocate_shared", "win_create_dynamic"][flavor as usize & 3]
}

const _: () =
    assert!(Flavor::Create as u64 == 0 && Flavor::Allocate as u64 == 1, "in the order of their calls");
const _: () = assert!(Flavor::Shared as u64 == 2 && Flavor::Dynamic as u64 == 3, "likewise");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fault_is_named_whatever_the_others_make() {
        let error = Error::new(ErrorClass::Disp, "", "");
        let words = [
            word(Rank(0), Flavor::Create, None),
            word(Rank(3), Flavor::Create, Some(&error)),
            word(Rank(1 << 30), Flavor::Dynamic, Some(&Error::new(ErrorClass::Size, "", ""))),
        ];
        let least = words.into_iter().min().unwrap();
        assert_eq!(first_fault(least), Some((Rank(3), ErrorClass::Disp)));
        assert_eq!(first_fault(words[0]), None);
        let configuration = crate::config::EngineConfig::default().alike();
        let [create, dynamic] = [Flavor::Create, Flavor::Dynamic].map(|flavor| alike(configuration, flavor));
        assert_eq!(difference((configuration, Flavor::Create), create, dynamic, least), None);
    }

    #[test]
    fn configurations_that_differ_are_found_by_every_rank_whatever_kind_they_make() {
        let configurations = [3, 5].map(|fence_packets| {
            let config = crate::config::EngineConfig { fence_packets, ..Default::default() };
            config.alike()
        });
        for flavor in [Flavor::Create, Flavor::Allocate, Flavor::Shared, Flavor::Dynamic] {
            let [least, greatest] = configurations.map(|configuration| alike(configuration, flavor));
            let first = word(Rank(0), flavor, None);
            for own in configurations {
                let says = difference((own, flavor), least, greatest, first).unwrap();
                assert!(says.starts_with("RMA_FENCE_PACKETS is "), "{says}");
            }
        }
    }

    #[test]
    fn two_kinds_of_windows_are_named_with_a_rank() {
        let configuration = crate::config::EngineConfig::default().alike();
        let [create, shared] = [Flavor::Create, Flavor::Shared].map(|flavor| alike(configuration, flavor));
        let first = word(Rank(2), Flavor::Create, None);
        let says = |flavor| difference((configuration, flavor), create, shared, first).unwrap();
        assert!(
            says(Flavor::Shared).starts_with("this rank calls win_allocate_shared, and rank 2 win_create:")
        );
        let own = says(Flavor::Create);
        assert!(
            own.starts_with(
                "this rank calls win_create, as does rank 2, and another one win_allocate_shared:"
            )
        );
        assert_eq!(difference((configuration, Flavor::Create), create, create, first), None);
    }
}
