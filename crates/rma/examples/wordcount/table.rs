//! The distributed hash table of `wordcount`: words and counts in window memory, filled by all ranks at once.
//!
//! A word belongs to the rank that its hash names. There it takes the first free slot from a place that the hash names too.
//! A slot is three 64-bit elements:
//!
//! | element | 0 while free | then |
//! |---|---|---|
//! | tag | free | the word's hash; set by compare-and-swap, which decides which rank brings the word |
//! | text | not there yet | length and place of the word's bytes, which fetch-and-add took from the rank's heap |
//! | count | | occurrences; grows by accumulate |
//!
//! Equal tags are not trusted: the text is compared, so two words with one hash are two words. Invariant: a text element
//! that is not 0 never changes, and its bytes are complete; so what a rank has seen of a slot it may remember.

use rma::{Error, ErrorClass, LockKind, LockSet, Locked, ReduceOp, Result, Window, World};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

const SLOT: usize = 3;
const TAG: usize = 0;
const TEXT: usize = 1;
const COUNT: usize = 2;
/// The heap's first element says how much of it is taken.
const HEAP_TOP: usize = 0;
const LEN_BITS: u32 = 24;

/// The table, and what this rank has learned of it.
#[derive(Debug)]
pub(crate) struct WordTable<'world> {
    window: Window<'world, u64>,
    shape: Shape,
    known: HashMap<String, (u32, usize)>,
}

/// Sizes of the table; the same on all ranks.
#[derive(Clone, Copy, Debug)]
struct Shape {
    ranks: u32,
    /// Slots of each rank.
    slots: usize,
    /// Elements of each rank's heap, the first one included.
    heap: usize,
}

impl<'world> WordTable<'world> {
    /// Room for `slots` words in all, with `text_bytes` bytes; collective.
    ///
    /// # Errors
    /// When the window cannot be made.
    pub(crate) fn new(world: &'world World, slots: u64, text_bytes: u64) -> Result<Self> {
        let ranks = u64::from(world.size());
        let shape = Shape {
            ranks: world.size(),
            slots: slots.div_ceil(ranks).max(1) as usize,
            heap: (text_bytes / 4).div_ceil(ranks) as usize + 1024,
        };
        let window = world.allocate(shape.slots * SLOT + shape.heap)?;
        Ok(Self { window, shape, known: HashMap::new() })
    }

    /// Adds occurrences of words. Any rank may, at any time between creation and [`WordTable::own_words`].
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when a rank's part of the table is full.
    pub(crate) fn add<'a>(&mut self, counts: impl IntoIterator<Item = (&'a str, u64)>) -> Result<()> {
        let (shape, known) = (self.shape, &mut self.known);
        let all = (0..shape.ranks).map(|rank| (rank, LockKind::Shared)).collect::<Vec<_>>();
        let mut additions = vec![Vec::new(); shape.ranks as usize];
        self.window.lock_set(&all, |locks| {
            for (word, count) in counts {
                let (rank, slot) = match known.get(word) {
                    Some(place) => *place,
                    None => {
                        let place = find_or_insert(locks, shape, word)?;
                        known.insert(word.to_owned(), place);
                        place
                    }
                };
                additions[rank as usize].push((slot * SLOT + COUNT, [count]));
            }
            for (rank, additions) in locks.ranks().iter().zip(&additions) {
                rank.batch(|batch| {
                    additions
                        .iter()
                        .try_for_each(|(disp, count)| batch.accumulate(count, ReduceOp::Sum, *disp))
                })?;
            }
            Ok(())
        })
    }

    /// The words that belong to this rank, with their counts. All ranks must have ended their additions.
    pub(crate) fn own_words(&self) -> Vec<(String, u64)> {
        let view = self.window.local();
        let slots = (0..self.shape.slots).map(|slot| slot * SLOT).filter(|at| view.get(at + TEXT) != 0);
        slots
            .map(|at| {
                let (heap_at, len) = unpack(view.get(at + TEXT));
                let mut elements = vec![0; len.div_ceil(8)];
                view.read(self.shape.slots * SLOT + heap_at, &mut elements);
                (text_of(&elements, len), view.get(at + COUNT))
            })
            .collect()
    }

    /// Ends the table; collective.
    ///
    /// # Errors
    /// When a rank is lost.
    pub(crate) fn free(self) -> Result<()> {
        self.window.free()
    }
}

/// Rank and slot of a word, which is put there if it is new.
fn find_or_insert(locks: &LockSet<'_, u64>, shape: Shape, word: &str) -> Result<(u32, usize)> {
    let hash = hash_of(word);
    let owner = (hash % u64::from(shape.ranks)) as u32;
    let rank = &locks.ranks()[owner as usize];
    let first = (hash / u64::from(shape.ranks)) as usize % shape.slots;
    for probe in 0..shape.slots {
        let slot = (first + probe) % shape.slots;
        let at = slot * SLOT;
        match rank.compare_and_swap(at + TAG, 0, hash)? {
            0 => {
                bring(rank, shape, at, word)?;
                return Ok((owner, slot));
            }
            tag if tag == hash && text_at(rank, shape, at)? == word => return Ok((owner, slot)),
            _ => {}
        }
    }
    let cause = format!("all {} slots of rank {owner} are taken; ask for more with --slots", shape.slots);
    Err(Error::new(ErrorClass::NoMem, "wordcount", cause))
}

/// Stores the text of a word whose slot this rank has won.
fn bring(rank: &Locked<'_, u64>, shape: Shape, at: usize, word: &str) -> Result<()> {
    let elements = elements_of(word);
    let heap = shape.slots * SLOT;
    let heap_at = 1 + rank.fetch_add(heap + HEAP_TOP, elements.len() as u64)? as usize;
    if heap_at + elements.len() > shape.heap || word.len() >= 1 << LEN_BITS {
        let cause = format!("the {} bytes for texts on rank {} are taken", shape.heap * 8, rank.rank());
        return Err(Error::new(ErrorClass::NoMem, "wordcount", cause));
    }
    // The batch completes the bytes before any rank can learn where they are.
    rank.batch(|batch| batch.put(&elements, heap + heap_at))?;
    rank.fetch_op(at + TEXT, pack(heap_at, word.len()), ReduceOp::Replace)?;
    Ok(())
}

/// The text of a slot that is taken; waits until it is there.
fn text_at(rank: &Locked<'_, u64>, shape: Shape, at: usize) -> Result<String> {
    loop {
        match rank.fetch_op(at + TEXT, 0, ReduceOp::NoOp)? {
            // The winner may be a rank that is not running at the moment.
            0 => std::thread::yield_now(),
            text => {
                let (heap_at, len) = unpack(text);
                let mut elements = vec![0; len.div_ceil(8)];
                rank.batch(|batch| batch.get(&mut elements, shape.slots * SLOT + heap_at))?;
                return Ok(text_of(&elements, len));
            }
        }
    }
}

fn hash_of(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish().max(1)
}

fn pack(heap_at: usize, len: usize) -> u64 {
    (heap_at as u64) << LEN_BITS | len as u64
}

fn unpack(text: u64) -> (usize, usize) {
    ((text >> LEN_BITS) as usize, (text & ((1 << LEN_BITS) - 1)) as usize)
}

fn elements_of(word: &str) -> Vec<u64> {
    let to_element = |chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(bytes)
    };
    word.as_bytes().chunks(8).map(to_element).collect()
}

fn text_of(elements: &[u64], len: usize) -> String {
    let bytes = elements.iter().flat_map(|element| element.to_ne_bytes()).take(len).collect::<Vec<_>>();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_their_form_in_the_heap() {
        for word in ["a", "eight__8", "ninebytes", "größer", "日本語の言葉です"] {
            assert_eq!(text_of(&elements_of(word), word.len()), word);
            assert_eq!(unpack(pack(12345, word.len())), (12345, word.len()));
        }
    }

    #[test]
    fn all_ranks_count_into_one_table() {
        let words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"];
        let all = World::run_threads(4, |world| {
            // Few slots, so that words of one rank meet.
            let mut table = WordTable::new(world, 48, 4096)?;
            for _ in 0..3 {
                let mine =
                    words.iter().skip(world.rank() as usize).map(|word| (*word, 1 + u64::from(world.rank())));
                table.add(mine)?;
            }
            world.barrier()?;
            let own = table.own_words();
            table.free()?;
            Ok(own)
        })
        .unwrap();
        let mut counted = all.into_iter().flatten().collect::<Vec<_>>();
        counted.sort_unstable();
        let mut expected = words
            .iter()
            .enumerate()
            .map(|(i, word)| {
                ((*word).to_owned(), (0..4).filter(|rank| *rank <= i as u64).map(|rank| 3 * (rank + 1)).sum())
            })
            .collect::<Vec<(String, u64)>>();
        expected.sort_unstable();
        assert_eq!(counted, expected);
    }

    #[test]
    fn a_full_table_is_an_error_with_names_and_limits() {
        World::run_threads(2, |world| {
            let mut table = WordTable::new(world, 2, 4096)?;
            if world.rank() == 0 {
                let words = (0..9).map(|i| format!("word{i}")).collect::<Vec<_>>();
                let error = table.add(words.iter().map(|word| (word.as_str(), 1))).unwrap_err();
                assert_eq!(error.class(), ErrorClass::NoMem);
                assert!(error.to_string().contains("--slots"), "{error}");
            }
            world.barrier()?;
            table.free()
        })
        .unwrap();
    }
}
