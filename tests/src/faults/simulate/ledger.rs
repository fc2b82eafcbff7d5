//! What the ranks of a simulated job share besides the network: diaries, the ranks that are gone, and when
//! any came further last.

use crate::faults::diary::Line;
use std::cell::{Cell, RefCell};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) diaries: RefCell<Vec<Vec<Line>>>,
    pub(super) memory: RefCell<Vec<Option<Vec<u64>>>>,
    /// In the order of their deaths.
    pub(super) dead: RefCell<Vec<u32>>,
    /// Ranks that do nothing any more, dead or not.
    gone: RefCell<Vec<bool>>,
    pub(super) now: Cell<Duration>,
    /// When any rank came further last.
    pub(super) moved_at: Cell<Duration>,
    /// Why the run is given up.
    pub(super) hang: RefCell<Option<String>>,
}

impl Ledger {
    pub(super) fn new(ranks: u32) -> Self {
        let ranks = ranks as usize;
        Self {
            diaries: RefCell::new(vec![Vec::new(); ranks]),
            memory: RefCell::new(vec![None; ranks]),
            dead: RefCell::default(),
            gone: RefCell::new(vec![false; ranks]),
            now: Cell::default(),
            moved_at: Cell::default(),
            hang: RefCell::default(),
        }
    }

    /// A rank writes down a line.
    pub(super) fn note(&self, rank: u32, line: Line) {
        self.diaries.borrow_mut()[rank as usize].push(line);
        self.moved_at.set(self.now.get());
    }

    pub(super) fn has(&self, rank: u32, line: &Line) -> bool {
        self.diaries.borrow()[rank as usize].contains(line)
    }

    pub(super) fn is_dead(&self, rank: u32) -> bool {
        self.dead.borrow().contains(&rank)
    }

    pub(super) fn is_gone(&self, rank: u32) -> bool {
        self.gone.borrow()[rank as usize]
    }

    /// Whether every rank has written this line, or is gone.
    pub(super) fn all_have(&self, line: &Line) -> bool {
        (0..).zip(&*self.gone.borrow()).all(|(rank, is_gone)| *is_gone || self.has(rank, line))
    }

    /// A rank has died.
    pub(super) fn bury(&self, rank: u32) {
        self.dead.borrow_mut().push(rank);
        self.leave(rank);
    }

    /// A rank does nothing any more.
    pub(super) fn leave(&self, rank: u32) {
        self.gone.borrow_mut()[rank as usize] = true;
        self.moved_at.set(self.now.get());
    }
}
