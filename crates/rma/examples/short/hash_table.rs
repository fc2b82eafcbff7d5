//! Hash table: slots lie on all ranks; an insert claims a slot by compare-and-swap and moves on when it is taken.

use rma::{Result, Window, World};

const SLOTS: u64 = 64;
const KEYS: u64 = 20;

/// Inserts a key other than 0, and answers whether it is new.
fn insert(table: &mut Window<'_, u64>, key: u64) -> Result<bool> {
    let all_slots = SLOTS * u64::from(table.size());
    table.lock_all(|all| {
        let mut at = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) % all_slots;
        loop {
            let found = all.rank(at / SLOTS)?.compare_and_swap((at % SLOTS) as usize, 0, key)?;
            if found == 0 || found == key {
                return Ok(found == 0);
            }
            at = (at + 1) % all_slots;
        }
    })
}

pub(crate) fn run(world: &World) -> Result<()> {
    let mut table = world.allocate::<u64>(SLOTS as usize)?;
    // Neighbours insert half of their keys in common.
    let first = u64::from(world.rank()) * KEYS / 2 + 1;
    let mut new = 0;
    for key in first..first + KEYS {
        new += u64::from(insert(&mut table, key)?);
    }
    world.barrier()?;
    let here = table.local().to_vec().iter().filter(|slot| **slot != 0).count() as u64;
    let sums = world.allreduce(rma::ReduceOp::Sum, &[new, here])?;
    let keys = KEYS / 2 * (u64::from(world.size()) + 1);
    assert_eq!(sums, [keys; 2], "each key is in one slot, and one rank was the first");
    table.free()
}
