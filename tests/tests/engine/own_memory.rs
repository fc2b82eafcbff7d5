//! What tests of windows share whose memory is the ranks' own, so that ranks of a node reach it by packets.

use rma_core::window::{Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, into};

pub(super) const ELEMENTS: usize = 8;

/// A buffer that holds one more than this, and stays.
pub(super) fn one_more(at: u64) -> &'static [u64] {
    static VALUES: [u64; ELEMENTS] = [1, 2, 3, 4, 5, 6, 7, 8];
    std::slice::from_ref(&VALUES[at as usize])
}

/// Two ranks whose long answers leave bit by bit, with small operations that ride on others and that do not.
pub(super) fn slow_answers() -> [Setup; 2] {
    [0, 8].map(|piggyback_threshold| {
        let mut setup = Setup::direct(2);
        setup.sim.bulk_from = 64;
        setup.sim.body_step_bytes = 64;
        setup.engine.piggyback_threshold = piggyback_threshold;
        setup
    })
}

/// Two windows of two ranks whose lane holds one packet: what leaves of one fills it when something of the other is to leave, unless
/// the target steps meanwhile.
pub(super) struct NarrowLane {
    pub(super) world: Stepped,
    pub(super) windows: [Vec<Window>; 2],
    // Behind the windows: dropped after them.
    _memory: Box<[[u64; ELEMENTS]; 4]>,
}

impl NarrowLane {
    pub(super) fn new(seed: u64) -> Self {
        let mut setup = Setup::direct(2);
        setup.sim.lane_packets = 1;
        let world = Stepped::new(&setup, seed);
        let mut memory = Box::new([[0u64; ELEMENTS]; 4]);
        let spans = memory.each_mut().map(|elements| into(elements));
        let spec = |at: usize, me: u32| WindowSpec::Create { memory: spans[at + me as usize], unit: 8 };
        let windows = [0, 2].map(|at| world.windows(|me| spec(at, me)));
        Self { world, windows, _memory: memory }
    }
}
