//! Puts and gets that are nothing but a copy: what a caller tries first when every instruction counts.
//!
//! They answer `false`, and have done nothing, whenever there is more to do or something is wrong: the target is not mapped,
//! no epoch is open to it, bytes lie outside of the window's one range, somebody looks, or the rank has to be searched for. The
//! caller then makes the ordinary call, which sees to all of that. They do not panic, so that a caller across a language boundary needs no frame
//! around them.

use super::calls::Window;
use super::shared::Member;
use crate::ids::{Disp, Rank};
use crate::mem::{ReadSpan, WriteSpan};
use std::sync::atomic::Ordering::Relaxed;

impl Window {
    /// [`Window::put`], where it is nothing but a copy; says whether it has been done.
    #[inline(always)] // a call to it costs as much as half of it
    pub fn put_now(&self, origin: ReadSpan, target: Rank, disp: Disp) -> bool {
        let Some(place) = self.place_now(target, disp, origin.len()) else { return false };
        place.write_from(origin);
        true
    }

    /// [`Window::get`], where it is nothing but a copy; says whether it has been done.
    #[inline(always)] // as above
    pub fn get_now(&self, result: WriteSpan, target: Rank, disp: Disp) -> bool {
        let Some(place) = self.place_now(target, disp, result.len()) else { return false };
        result.write_from(place.as_read());
        true
    }

    /// The bytes of an open target that is mapped.
    #[inline(always)]
    fn place_now(&self, target: Rank, disp: Disp, len: usize) -> Option<WriteSpan> {
        let shared = self.shared();
        let member = shared.quick_by_distance(target).filter(|member| shared.is_open(member))?;
        member.place_now(disp, len)
    }
}

impl Member {
    /// The `len` bytes at displacement `disp` of memory that is one range.
    #[inline(always)]
    fn place_now(&self, disp: Disp, len: usize) -> Option<WriteSpan> {
        let start = usize::try_from(disp.0.checked_mul(self.unit.load(Relaxed))?).ok()?;
        let rest = self.span.len().checked_sub(start)?;
        if len <= rest { Some(self.span.part(start, len)) } else { None }
    }
}
