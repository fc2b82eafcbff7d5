//! Ranks as a program has them: integers of any type, or none.

use rma_core::ids::Rank;
use rma_core::{Below, Error, ErrorClass, Result};

/// What names a rank of a window: an integer of any common type, or an `Option` of one.
///
/// `None` is no process (`MPI_PROC_NULL`): operations on it do nothing, and its lock is held at once. So the edge of a grid needs no case of
/// its own.
///
/// ```
/// rma::World::run_threads(4, |world| {
///     let mut window = world.allocate::<u32>(1)?;
///     let right = (world.rank() + 1 < world.size()).then(|| world.rank() + 1);
///     window.fence_epoch(|epoch| epoch.put_value(7, right, 0))?;
///     assert_eq!(window.local().get(0), if world.rank() == 0 { 0 } else { 7 });
///     window.free()
/// })
/// .unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a rank",
    note = "ranks are integers, such as `u32` and `usize`, or an `Option` of one, in which `None` is no process"
)]
pub trait IntoRank: Copy {
    /// The rank.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when the number can be no rank. Whether the window has it is for the call to find out.
    fn into_rank(self, call: &'static str) -> Result<Rank>;
}

macro_rules! ranks {
    ($($number:ty)*) => {$(
        impl IntoRank for $number {
            #[inline]
            fn into_rank(self, call: &'static str) -> Result<Rank> {
                match u32::try_from(self) {
                    Ok(rank) if rank != Rank::NULL.0 => Ok(Rank(rank)),
                    _ => Err(impossible(call, i128::from(self))),
                }
            }
        }
    )*};
}

ranks! { u8 u16 u32 u64 i8 i16 i32 i64 }

impl IntoRank for usize {
    #[inline]
    fn into_rank(self, call: &'static str) -> Result<Rank> {
        (self as u64).into_rank(call)
    }
}

impl<R: IntoRank> IntoRank for Option<R> {
    #[inline]
    fn into_rank(self, call: &'static str) -> Result<Rank> {
        self.map_or(Ok(Rank::NULL), |rank| rank.into_rank(call))
    }
}

/// The ranks of a group. Those that are no process do not belong to it.
pub(super) fn group<R: IntoRank>(ranks: &[R], call: &'static str) -> Result<Vec<Rank>> {
    let mut group: Vec<Rank> = ranks.iter().map(|rank| rank.into_rank(call)).collect::<Result<_>>()?;
    group.retain(|rank| *rank != Rank::NULL);
    Ok(group)
}

#[cold]
fn impossible(call: &'static str, number: i128) -> Error {
    Error::new(ErrorClass::Rank, call, format!("rank {number} is not in {}", Below(Rank::NULL.0.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_type_name_ranks() {
        for rank in
            [7u32.into_rank("t"), 7usize.into_rank("t"), 7i64.into_rank("t"), Some(7u8).into_rank("t")]
        {
            assert_eq!(rank.unwrap(), Rank(7));
        }
        assert_eq!(None::<u32>.into_rank("t").unwrap(), Rank::NULL);
        for error in [(-1i32).into_rank("t"), u32::MAX.into_rank("t"), (1u64 << 32).into_rank("t")] {
            assert_eq!(error.unwrap_err().class(), ErrorClass::Rank);
        }
        assert_eq!((-3i8).into_rank("put").unwrap_err().cause(), "rank -3 is not in 0 to 4294967294");
    }
}
