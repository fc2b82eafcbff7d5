//! Networks that are slow, lose packets, or hand them over in another order, where the kernel can do that.

use super::random::play;
use crate::cluster::bed::Bed;
use crate::cluster::launcher::{Arrangement, has};
use crate::cluster::report::Report;

/// What `tc netem` does on the second machine.
const WEATHERS: [&str; 3] = ["delay 2ms 1ms", "loss 2%", "delay 1ms reorder 25% duplicate 1%"];

pub(super) fn run(bed: &mut Bed, report: &mut Report) {
    if !has("tc") {
        return report.skip("weather", "there is no tc here (Debian: iproute2)");
    }
    let weathers = if bed.args.quick { &WEATHERS[1..2] } else { &WEATHERS };
    for words in weathers {
        if let Err(why) = bed.machines.disturb(1, words) {
            return report.skip("weather", &format!("the kernel has no netem: {why}"));
        }
        for channel in bed.channels.clone() {
            if bed.args.quick && channel == "ofi" {
                continue;
            }
            let programs = if bed.args.quick { 3 } else { 20 };
            report.row(&format!("random programs, {channel}, {words}"), || {
                play(bed, channel, ((3, Arrangement::Turns), 3, 1), (1, programs))
            });
        }
        if let Err(why) = bed.machines.disturb(1, "") {
            report.row("weather", || Err(why));
        }
    }
}
