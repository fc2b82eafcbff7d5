//! Windows of the host without memory, which stand for windows of the library: the program has their handles, and finds names, attributes,
//! groups and error handlers behind them. One of the few files with `unsafe`.
//!
//! Such a window takes the host far longer to make than the library needs for its own. So one is
//! not freed with the library's, but *spared*, as the host has made it, for the next window over the same ranks in the same order. They
//! agree on each that is used again: each offers the spared one with the highest number, which all have given it when it was made.
//! Where threads make and free windows at once, ranks may offer different ones; then all make a new one. A window whose making finds
//! [`MOST`] of these on one of its ranks is freed with the library's: each that is spared holds a context of the host's.
//!
//! Invariants: a window of the host that is spared has no attribute, and the name and handler that it was made with. All ranks have spared
//! the same ones once no call is under way, so that they can be freed at the end, by their numbers, in which ranks of several groups are in
//! no circle. Attributes are noted as a program attaches them; where bindings of Fortran are loaded that attach them unseen, no window is
//! spared.

use crate::abi::Handle;
use crate::errors::Failure;
use crate::library::{attaches_unseen, host};
use crate::memory::{handle, read_handle, write_handle};
use crate::{ours, report, theirs, world};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::ffi::{c_char, c_int, c_void};
use std::hash::BuildHasher;
use std::ptr::null_mut;
use std::sync::Arc;

/// One that is spared when the program frees it.
#[derive(Debug)]
struct HostWindow {
    /// Its ranks in the world, in their order.
    ranks: Arc<[c_int]>,
    /// The same on all ranks, and no other one's: the least of a random number of each.
    number: i64,
    win: Handle,
    /// As it was made.
    name: [c_char; MOST_OF_NAME],
    handler: Handle,
    /// Keys of attributes that the program has attached.
    keys: Vec<c_int>,
}

/// Those that the program has.
static USED: Mutex<Vec<HostWindow>> = Mutex::new(Vec::new());

/// How many of both a rank has at most. The hosts have contexts for some 2,000 and more.
const MOST: usize = 64;

/// Those that it has freed, by their numbers.
static SPARED: Mutex<BTreeMap<i64, HostWindow>> = Mutex::new(BTreeMap::new());

/// The most characters of a name that any host has.
const MOST_OF_NAME: usize = 256;

/// Answers a window for one of the library's that has just been made. Collective.
///
/// # Errors
/// The host's code; its handler has got the error.
///
/// # Safety
/// A communicator of the host, and the library's of the same ranks.
pub(crate) unsafe fn make(comm: Handle, own_comm: Handle) -> Result<Handle, c_int> {
    // SAFETY: as the caller promises; all ranks are here.
    unsafe {
        let failed = |code| Failure::of_code(code).raise_at_comm(comm);
        let ranks = shared(ours::ranks_in_world(own_comm).map_err(failed)?);
        let held = held();
        let spared = if attaches_unseen() { None } else { take_spared(&ranks) };
        let offer = Offer::of(spared.as_ref().map(|window| window.number), held, attaches_unseen());
        let agreed = agree(own_comm, offer).map_err(failed)?;
        match (agreed, spared) {
            (Agreed::Again, Some(window)) => {
                let win = window.win;
                USED.lock().push(window);
                Ok(win)
            }
            (agreed, spared) => {
                SPARED.lock().extend(spared.map(|window| (window.number, window)));
                let win = new(comm)?;
                if let Agreed::New { number } = agreed {
                    USED.lock().push(HostWindow::of(ranks, number, win));
                }
                Ok(win)
            }
        }
    }
}

/// The spared window of these ranks with the highest number.
fn take_spared(ranks: &[c_int]) -> Option<HostWindow> {
    let mut spared = SPARED.lock();
    let (number, _) = spared.iter().rev().find(|(_, window)| *window.ranks == *ranks)?;
    let number = *number;
    spared.remove(&number)
}

/// The same ranks, in the place where they are already, if they are.
fn shared(ranks: Vec<c_int>) -> Arc<[c_int]> {
    let same = |window: &HostWindow| (*window.ranks == *ranks).then(|| Arc::clone(&window.ranks));
    let used = USED.lock().iter().find_map(same);
    used.or_else(|| SPARED.lock().values().find_map(same)).unwrap_or_else(|| ranks.into())
}

/// How many there are of both.
fn held() -> usize {
    let used = USED.lock().len();
    used + SPARED.lock().len()
}

/// What a rank has for a window that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offer {
    Spared(i64),
    New,
    /// One that is freed with the library's.
    Never,
}

impl Offer {
    /// That of a rank with a spared window of this number, if it has one.
    fn of(spared: Option<i64>, held: usize, attaches_unseen: bool) -> Self {
        match spared {
            Some(number) => Self::Spared(number),
            None if attaches_unseen || held >= MOST => Self::Never,
            None => Self::New,
        }
    }
}

/// What the ranks have found.
#[derive(Debug, PartialEq, Eq)]
enum Agreed {
    /// All have offered the same.
    Again,
    /// They make one, which gets this number.
    New { number: i64 },
    /// They make one that no rank spares.
    Unspared,
}

/// # Errors
/// The library's code.
fn agree(comm: Handle, offer: Offer) -> Result<Agreed, c_int> {
    let random = (RandomState::new().hash_one(0) >> 1).max(1) as i64;
    ours::least(comm, words_of(offer, random)).map(agreed)
}

/// What the least of each word is taken of: of all offers, of their opposites, and of the random numbers.
fn words_of(offer: Offer, random: i64) -> [i64; 3] {
    match offer {
        Offer::Spared(number) => [number, -number, random],
        Offer::New => [0, 0, random],
        Offer::Never => [0, 0, 0],
    }
}

fn agreed([offer, opposite, number]: [i64; 3]) -> Agreed {
    match (offer, number) {
        (_, 0) => Agreed::Unspared,
        (1.., _) if offer == -opposite => Agreed::Again,
        _ => Agreed::New { number },
    }
}

/// The program has attached an attribute.
pub(crate) fn note_attribute(win: Handle, key: c_int) {
    if let Some(window) = USED.lock().iter_mut().find(|window| window.win == handle(win))
        && !window.keys.contains(&key)
    {
        window.keys.push(key);
    }
}

/// It has deleted one.
pub(crate) fn forget_attribute(win: Handle, key: c_int) {
    if let Some(window) = USED.lock().iter_mut().find(|window| window.win == handle(win)) {
        window.keys.retain(|known| *known != key);
    }
}

/// Frees or spares the window that the program has at this address, and takes the handle from it. Collective unless it is spared. `forget`
/// is called when the functions of its attributes have been, and no other thread has got it yet, if it is spared.
///
/// # Safety
/// The address of a handle of a window of the host.
pub(crate) unsafe fn free(at: *mut c_void, forget: impl FnOnce()) -> c_int {
    // SAFETY: as the caller promises.
    let win = unsafe { handle(read_handle(at, 0)) };
    let used = {
        let mut used = USED.lock();
        let index = used.iter().position(|window| window.win == win);
        index.map(|index| used.swap_remove(index))
    };
    // SAFETY: as above. Functions of attributes may call MPI, so no lock is held.
    unsafe {
        let Some(mut window) = used.filter(|_| world::is_running()) else {
            let code = theirs::win_free(at);
            forget();
            return code;
        };
        let code = window.renew();
        forget();
        if code == 0 {
            write_handle(at, host().constants.win_null);
            SPARED.lock().insert(window.number, window);
        }
        code
    }
}

/// Frees all spared ones, if all ranks of each have it. Collective over the library's world, which has not ended.
pub(crate) fn free_all() {
    let spared = std::mem::take(&mut *SPARED.lock());
    let mine = spared.values().fold(0i64, |sum, window| sum.wrapping_add(window.share()));
    if ours::sum(ours::WORLD, mine) == Ok(0) {
        for window in spared.into_values() {
            let mut room = [0usize; 1];
            // SAFETY: a window of the host that the program has not, and whose other ranks free it, too.
            unsafe {
                write_handle(room.as_mut_ptr().cast(), window.win);
                theirs::win_free(room.as_mut_ptr().cast());
            }
        }
    }
}

impl HostWindow {
    /// One that the host has just made.
    ///
    /// # Safety
    /// A window of the host.
    unsafe fn of(ranks: Arc<[c_int]>, number: i64, win: Handle) -> Self {
        let (mut name, mut len, mut room) = ([0; MOST_OF_NAME], 0, [0usize; 1]);
        // SAFETY: as the caller promises; room for the longest name and for a handle, which is kept.
        let handler = unsafe {
            theirs::win_get_name(win, name.as_mut_ptr(), &raw mut len);
            theirs::win_get_errhandler(win, room.as_mut_ptr().cast());
            read_handle(room.as_ptr().cast(), 0)
        };
        Self { ranks, number, win, name, handler, keys: Vec::new() }
    }

    /// This rank's part of a sum that is 0 when all ranks of the window have it: its number once from each but the first, which has as many
    /// of the opposite.
    fn share(&self) -> i64 {
        let others = self.ranks.len() as i64 - 1;
        if self.ranks.first() == Some(&world::rank()) {
            self.number.wrapping_mul(-others)
        } else {
            self.number
        }
    }

    /// Makes it as it was made; the code of the host if it cannot. The last attribute attached is deleted first.
    ///
    /// # Safety
    /// A window of the host.
    unsafe fn renew(&mut self) -> c_int {
        // SAFETY: as the caller promises; the name ends.
        unsafe {
            while let Some(key) = self.keys.pop() {
                let code = theirs::win_delete_attr(self.win, key);
                if code != 0 {
                    return code;
                }
            }
            match theirs::win_set_name(self.win, self.name.as_ptr()) {
                0 => theirs::win_set_errhandler(self.win, self.handler),
                code => code,
            }
        }
    }
}

/// A dynamic one, or where the host has none, as Open MPI without its component over RDMA, and 4.1 on a communicator of one rank, an
/// allocated one of no bytes. Collective.
///
/// # Safety
/// A communicator of the host.
unsafe fn new(comm: Handle) -> Result<Handle, c_int> {
    let (none, mut room, mut base) = (host().constants.info_null, [0usize; 1], null_mut::<c_void>());
    let to: *mut c_void = room.as_mut_ptr().cast();
    // SAFETY: as the caller promises; room for a handle.
    unsafe {
        if quietly(comm, || theirs::win_create_dynamic(none, comm, to)) != 0 {
            match theirs::win_allocate(0, 1, none, comm, (&raw mut base).cast(), to) {
                0 => {}
                code => {
                    report::say(|| {
                        format!("the host makes no window that a handle could be of: it answers {code}")
                    });
                    return Err(code);
                }
            }
        }
        Ok(read_handle(room.as_ptr().cast(), 0))
    }
}

/// A call of the host whose errors come to its caller alone.
///
/// # Safety
/// A communicator of the host.
unsafe fn quietly(comm: Handle, call: impl FnOnce() -> c_int) -> c_int {
    let mut room = [0usize; 1];
    // SAFETY: as the caller promises; the host gives the handler for keeps.
    unsafe {
        if theirs::comm_get_errhandler(comm, room.as_mut_ptr().cast()) != 0 {
            return call();
        }
        theirs::comm_set_errhandler(comm, host().constants.errors_return);
        let code = call();
        theirs::comm_set_errhandler(comm, read_handle(room.as_ptr().cast(), 0));
        theirs::errhandler_free(room.as_mut_ptr().cast());
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(offers: &[(Offer, i64)]) -> Agreed {
        let words = offers.iter().map(|(offer, random)| words_of(*offer, *random));
        agreed(
            words.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].min(b[2])]).expect("there are ranks"),
        )
    }

    #[test]
    fn a_rank_that_holds_the_most_offers_what_it_has_and_no_new_one() {
        use Offer::{Never, New, Spared};
        let offers =
            [MOST - 1, MOST, MOST + 1].map(|held| [None, Some(7)].map(|n| Offer::of(n, held, false)));
        assert_eq!(offers, [[New, Spared(7)], [Never, Spared(7)], [Never, Spared(7)]]);
        assert_eq!(Offer::of(None, 0, true), Never);
    }

    #[test]
    fn a_spared_window_is_used_again_when_each_rank_offers_it() {
        use Offer::{Never, New, Spared};
        assert_eq!(all(&[(Spared(7), 3), (Spared(7), 2)]), Agreed::Again);
        assert_eq!(all(&[(Spared(7), 3), (Spared(8), 2)]), Agreed::New { number: 2 });
        assert_eq!(all(&[(Spared(7), 3), (New, 9)]), Agreed::New { number: 3 });
        assert_eq!(all(&[(New, 3), (New, 9)]), Agreed::New { number: 3 });
        assert_eq!(all(&[(Spared(7), 3), (Never, 9)]), Agreed::Unspared);
        assert_eq!(all(&[(New, 3), (Never, 9), (Spared(7), 2)]), Agreed::Unspared);
    }
}
