//! Heat on a plate: an explicit scheme with the five-point stencil, on all rows or on a block of them.
//!
//! Invariant: the value of a cell after a step is one expression of five values before it, always in the same order of
//! operations, and the largest change does not depend on the order in which cells are visited. So a plate cut into blocks
//! gives bit for bit what it gives in one piece, if every block's halo rows hold its neighbours' rows before each step.
//! How they get there is the caller's business.

use std::ops::Range;

/// A plate with fixed temperatures on its edge: the outermost cells keep their initial value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plate {
    /// Number of rows, edges included.
    pub(crate) rows: usize,
    /// Number of columns, edges included.
    pub(crate) cols: usize,
    /// Share of the difference to its neighbours that a cell takes over in one step; stable up to 0.25.
    pub(crate) conduction: f64,
}

/// A side of a block that may border on another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Towards row 0.
    North,
    /// Towards the last row.
    South,
}

impl Side {
    /// The side that a neighbour on this side sees this block on.
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::North => Self::South,
            Self::South => Self::North,
        }
    }
}

/// Consecutive rows of a plate, with room for one row on either side.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    plate: Plate,
    rows: Range<usize>,
    /// The row north of the block, its rows, the row south of it.
    now: Vec<f64>,
    /// The same after the step under way.
    next: Vec<f64>,
}

impl Plate {
    /// The temperature of a cell at the start, and for ever if it lies on the edge: a hot northern edge, and a warm disc
    /// off the centre.
    pub(crate) fn initial(&self, row: usize, col: usize) -> f64 {
        if row == 0 {
            return 1.0;
        }
        if row + 1 == self.rows || col == 0 || col + 1 == self.cols {
            return 0.0;
        }
        let (y, x) = (row as f64 / self.rows as f64 - 0.6, col as f64 / self.cols as f64 - 0.35);
        if x * x + y * y < 0.02 { 0.8 } else { 0.0 }
    }

    /// The plate after that many steps, row by row, and the largest change of a cell in the last one.
    pub(crate) fn solve(&self, steps: u64) -> (Vec<f64>, f64) {
        let mut block = Block::new(*self, 0..self.rows);
        let largest_change = (0..steps).fold(0.0, |_, _| block.step());
        (block.cells().to_vec(), largest_change)
    }
}

impl Block {
    /// The rows `rows` of the plate at the start.
    ///
    /// # Panics
    /// When the plate does not have these rows.
    pub(crate) fn new(plate: Plate, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= plate.rows, "rows {rows:?} of {}", plate.rows);
        let mut now = vec![0.0; (rows.len() + 2) * plate.cols];
        if plate.cols > 0 {
            let lines = now.chunks_exact_mut(plate.cols).skip(1);
            for (row, line) in rows.clone().zip(lines) {
                line.iter_mut().enumerate().for_each(|(col, cell)| *cell = plate.initial(row, col));
            }
        }
        Self { next: now.clone(), plate, rows, now }
    }

    /// The rows, as numbered on the plate.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// All cells of the block, row by row.
    pub(crate) fn cells(&self) -> &[f64] {
        &self.now[self.plate.cols..][..self.rows.len() * self.plate.cols]
    }

    /// The outermost row on a side, which the neighbour there needs; nothing when there is no neighbour.
    pub(crate) fn edge(&self, side: Side) -> Option<&[f64]> {
        self.has_neighbour(side).then(|| {
            let line = match side {
                Side::North => 1,
                Side::South => self.rows.len(),
            };
            &self.now[line * self.plate.cols..][..self.plate.cols]
        })
    }

    /// Where the neighbour's row belongs, before every step; nothing when there is no neighbour.
    pub(crate) fn halo_mut(&mut self, side: Side) -> Option<&mut [f64]> {
        self.has_neighbour(side).then(|| {
            let line = match side {
                Side::North => 0,
                Side::South => self.rows.len() + 1,
            };
            &mut self.now[line * self.plate.cols..][..self.plate.cols]
        })
    }

    /// Computes these rows of the step under way and returns the largest change. Rows may be computed in any order; those
    /// that do not touch a halo row may be computed before it is there.
    ///
    /// # Panics
    /// When they are not rows of this block.
    pub(crate) fn update(&mut self, rows: Range<usize>) -> f64 {
        assert!(
            self.rows.start <= rows.start && rows.end <= self.rows.end,
            "rows {rows:?} of {:?}",
            self.rows
        );
        let mut largest_change = 0.0;
        for row in rows {
            let start = (row - self.rows.start) * self.plate.cols;
            let mut lines = self.now[start..].chunks_exact(self.plate.cols.max(1));
            // The row is one of the block's, which has a line before and a line after all of its rows.
            let (Some(north), Some(here), Some(south)) = (lines.next(), lines.next(), lines.next()) else {
                break;
            };
            let next = &mut self.next[start + self.plate.cols..][..self.plate.cols];
            let is_edge = row == 0 || row + 1 == self.plate.rows;
            let change =
                if is_edge { 0.0 } else { update_line(north, here, south, next, self.plate.conduction) };
            largest_change = if change > largest_change { change } else { largest_change };
        }
        largest_change
    }

    /// Ends the step: what was computed is what is now. Every row must have been computed.
    pub(crate) fn finish_step(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
    }

    /// A whole step; returns the largest change of a cell.
    pub(crate) fn step(&mut self) -> f64 {
        let largest_change = self.update(self.rows());
        self.finish_step();
        largest_change
    }

    fn has_neighbour(&self, side: Side) -> bool {
        !self.rows.is_empty()
            && match side {
                Side::North => self.rows.start > 0,
                Side::South => self.rows.end < self.plate.rows,
            }
    }
}

/// Computes a row between two others and returns the largest change. The first and last cell keep their value, which both
/// generations hold from the start.
fn update_line(north: &[f64], here: &[f64], south: &[f64], next: &mut [f64], conduction: f64) -> f64 {
    let Some(inner) = here.len().checked_sub(2) else { return 0.0 };
    if inner == 0 {
        return 0.0;
    }
    let (north, south) = (&north[1..][..inner], &south[1..][..inner]);
    let next = &mut next[1..][..inner];
    for (((near, north), south), next) in here.windows(3).zip(north).zip(south).zip(&mut *next) {
        let around = (north + south) + (near[0] + near[2]);
        *next = near[1] + conduction * (around - 4.0 * near[1]);
    }
    largest_difference(&here[1..][..inner], next)
}

/// In several lanes, since one running maximum would make every cell wait for the one before.
fn largest_difference(before: &[f64], after: &[f64]) -> f64 {
    const LANES: usize = 8;
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let mut largest = [0.0; LANES];
    let (mut before, mut after) = (before.chunks_exact(LANES), after.chunks_exact(LANES));
    for (before, after) in (&mut before).zip(&mut after) {
        for lane in 0..LANES {
            largest[lane] = larger(largest[lane], (after[lane] - before[lane]).abs());
        }
    }
    let rest = before.remainder().iter().zip(after.remainder()).map(|(before, after)| (after - before).abs());
    rest.chain(largest).fold(0.0, larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::share;

    fn plate(rows: usize, cols: usize) -> Plate {
        Plate { rows, cols, conduction: 0.2 }
    }

    /// Steps in blocks, with halo rows copied by hand; every other block computes its inner rows first.
    fn solve_in_blocks(plate: Plate, blocks: u32, steps: u64) -> (Vec<f64>, f64) {
        let rows = |index| {
            let share = share(plate.rows as u64, blocks, index);
            share.start as usize..share.end as usize
        };
        let mut parts: Vec<Block> = (0..blocks).map(|index| Block::new(plate, rows(index))).collect();
        let mut largest = 0.0f64;
        for _ in 0..steps {
            let edges: Vec<_> = parts
                .iter()
                .map(|part| [Side::North, Side::South].map(|side| part.edge(side).map(<[f64]>::to_vec)))
                .collect();
            for (index, part) in parts.iter_mut().enumerate() {
                if let Some(halo) = part.halo_mut(Side::North) {
                    halo.copy_from_slice(edges[index - 1][1].as_ref().unwrap());
                }
                if let Some(halo) = part.halo_mut(Side::South) {
                    halo.copy_from_slice(edges[index + 1][0].as_ref().unwrap());
                }
            }
            largest = 0.0;
            for (index, part) in parts.iter_mut().enumerate() {
                let rows = part.rows();
                if index % 2 == 1 && rows.len() > 2 {
                    largest = largest.max(part.update(rows.start + 1..rows.end - 1));
                    largest = largest.max(part.update(rows.start..rows.start + 1));
                    largest = largest.max(part.update(rows.end - 1..rows.end));
                    part.finish_step();
                } else {
                    largest = largest.max(part.step());
                }
            }
        }
        (parts.iter().flat_map(|part| part.cells().to_vec()).collect(), largest)
    }

    #[test]
    fn blocks_give_the_same_bits_as_one_piece() {
        for (rows, cols) in [(1, 1), (2, 5), (3, 3), (17, 23), (40, 11), (5, 1), (9, 2)] {
            let (whole, change) = plate(rows, cols).solve(50);
            assert_eq!(whole.len(), rows * cols);
            for blocks in [1, 2, 4, 7, 16, 50] {
                let (cells, largest) = solve_in_blocks(plate(rows, cols), blocks, 50);
                assert!(
                    cells.iter().map(|c| c.to_bits()).eq(whole.iter().map(|c| c.to_bits())),
                    "{rows}×{cols}, {blocks}"
                );
                assert_eq!(largest.to_bits(), change.to_bits(), "{rows}×{cols}, {blocks}");
            }
        }
    }

    #[test]
    fn heat_flows_and_the_edge_keeps_its_temperature() {
        let plate = plate(20, 30);
        let (cells, change) = plate.solve(200);
        assert!(change > 0.0 && change < plate.solve(10).1);
        for row in 0..20 {
            for col in 0..30 {
                let cell = cells[row * 30 + col];
                let is_edge = row == 0 || row == 19 || col == 0 || col == 29;
                assert!((0.0..=1.0).contains(&cell), "{row},{col}: {cell}");
                assert!(!is_edge || cell == plate.initial(row, col), "{row},{col}: {cell}");
                assert!(is_edge || cell > 0.0, "{row},{col}: {cell}");
            }
        }
    }

    #[test]
    fn a_cell_is_the_expression_of_its_five() {
        let plate = plate(3, 3);
        // Centre 0 or 0.8, north 1, the rest 0.
        let here = plate.initial(1, 1);
        let (cells, change) = plate.solve(1);
        assert_eq!(cells[4], here + 0.2 * (1.0 - 4.0 * here));
        assert_eq!(change, (cells[4] - here).abs());
    }

    #[test]
    fn no_steps_and_no_rows_are_ordinary() {
        assert_eq!(plate(4, 4).solve(0).1, 0.0);
        assert_eq!(plate(0, 0).solve(3), (vec![], 0.0));
        assert_eq!(plate(3, 0).solve(3), (vec![], 0.0));
        let mut empty = Block::new(plate(4, 4), 4..4);
        assert_eq!(empty.step(), 0.0);
        assert_eq!(empty.edge(Side::North), None);
        assert_eq!(empty.halo_mut(Side::North), None);
    }

    #[test]
    fn a_settled_plate_does_not_change() {
        let plate = plate(6, 7);
        let (cells, change) = plate.solve(5000);
        assert!(change < 1e-15, "{change}");
        // Each inner cell is the mean of its neighbours.
        for (row, col) in (1..5).flat_map(|row| (1..6).map(move |col| (row, col))) {
            let at = |row: usize, col: usize| cells[row * 7 + col];
            let mean = (at(row - 1, col) + at(row + 1, col) + at(row, col - 1) + at(row, col + 1)) / 4.0;
            assert!((mean - at(row, col)).abs() < 1e-13);
        }
    }
}
