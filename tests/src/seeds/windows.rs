//! Draws a window: where its memory comes from, units and sizes by rank, and what its regions hold.

use super::program::{Flavor, WindowPlan};
use super::values::{COMMUTING, ORDERED};
use crate::random::Random;

/// A window of so many ranks; one that all ranks map only where they are on one node.
pub(super) fn draw(random: &mut Random, ranks: u32, is_one_node: bool) -> WindowPlan {
    let flavor = match random.below(if is_one_node { 6 } else { 4 }) {
        0 | 1 => Flavor::Allocate,
        2 => Flavor::Create,
        3 => Flavor::Dynamic,
        at => Flavor::Shared { is_contiguous: at == 4 },
    };
    let units = [1, 2, 4, 8];
    let unit = random.pick(&units);
    let is_uniform = random.coin();
    let unit_of = |random: &mut Random| match flavor {
        Flavor::Dynamic => 1,
        _ if is_uniform => unit,
        _ => random.pick(&units),
    };
    let units = (0..ranks).map(|_| unit_of(random)).collect();
    // Contiguous shared memory begins where that of the rank before ends: a multiple of what has to be aligned.
    let pads = (0..ranks).map(|_| if is_uniform { 64 } else { 64 * random.below(4) }).collect();
    let (shared_basic, shared_op) = random.pick(&COMMUTING);
    WindowPlan {
        flavor,
        units,
        pads,
        own: random.pick(&[64, 160, 160, 400, 2000]),
        ordered: random.pick(&[4, 8, 12, 40]),
        basic: random.pick(&ORDERED),
        shared: random.pick(&[3, 8, 24]),
        shared_basic,
        shared_op,
    }
}
