//! Groups of the host as groups of the library: by ranks of the world.

use crate::abi::Handle;
use crate::errors::{ERR_GROUP, Failure};
use crate::library::host;
use crate::memory::{handle, read_handle};
use crate::table::Table;
use crate::{ours, theirs};
use std::ffi::c_int;

/// Groups that epochs were opened to, until the program frees them.
static KNOWN: Table<16> = Table::new();

/// The library's group of one of the program's, which stays until [`forget`]; `None` when a member is not in the world.
///
/// # Safety
/// A group that the program has.
pub(crate) unsafe fn find(group: Handle) -> Result<Option<Handle>, Box<Failure>> {
    if let Some(own) = KNOWN.find(group) {
        return Ok(Some(own));
    }
    // SAFETY: as the caller promises.
    let Some(new) = unsafe { Group::of(group) }? else { return Ok(None) };
    let own = new.handle();
    std::mem::forget(new);
    KNOWN.insert(group, own);
    Ok(Some(own))
}

/// The program frees a group: its handle may be another's next.
pub(crate) fn forget(group: Handle) {
    if KNOWN.len() > 0
        && let Some(own) = KNOWN.remove(handle(group))
    {
        drop(Group(own));
    }
}

/// A group of the library, freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Group(Handle);

impl Group {
    /// That of the host's group; `None` when a member is not in the world.
    ///
    /// # Safety
    /// A group of the host.
    pub(crate) unsafe fn of(group: Handle) -> Result<Option<Self>, Box<Failure>> {
        // SAFETY: as the caller promises.
        let Some(ranks) = unsafe { world_ranks(group) }? else { return Ok(None) };
        let (mut world, mut new) = (0, 0);
        // SAFETY: the library's world, room for handles, and as many ranks as said.
        let code = unsafe {
            ours::comm_group(ours::WORLD, &raw mut world);
            let code = ours::group_incl(world, ranks.len() as c_int, ranks.as_ptr(), &raw mut new);
            ours::group_free(&raw mut world);
            code
        };
        if code == 0 { Ok(Some(Self(new))) } else { Err(Failure::of_code(code)) }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.0
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: it is this value's; the empty group is predefined, and freeing it is refused without harm.
        unsafe { ours::group_free(&raw mut self.0) };
    }
}

/// The ranks in the world of a group's members.
///
/// # Safety
/// A group of the host.
unsafe fn world_ranks(group: Handle) -> Result<Option<Vec<c_int>>, Box<Failure>> {
    let constants = &host().constants;
    let (mut len, mut room) = (0, [0usize; 1]);
    // SAFETY: as the caller promises; room for a number, a handle, and as many ranks as there are members.
    unsafe {
        if theirs::group_size(group, &raw mut len) != 0 {
            return Err(Failure::new(ERR_GROUP, "group is none"));
        }
        let ranks: Vec<c_int> = (0..len).collect();
        let mut answers = vec![0; ranks.len()];
        theirs::comm_group(constants.comm_world, room.as_mut_ptr().cast());
        let world = read_handle(room.as_ptr().cast(), 0);
        let code = theirs::group_translate_ranks(group, len, ranks.as_ptr(), world, answers.as_mut_ptr());
        theirs::group_free(room.as_mut_ptr().cast());
        if code != 0 {
            return Err(Failure::new(ERR_GROUP, "the ranks of group are not told"));
        }
        Ok((!answers.contains(&constants.undefined)).then_some(answers))
    }
}
