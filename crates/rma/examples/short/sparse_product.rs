//! Sparse matrix times vector: each rank has some rows, and gets the elements of the vector that its rows need, wherever they lie.

use rma::{Result, World};

const PER_RANK: usize = 6;

pub(crate) fn run(world: &World) -> Result<()> {
    let (rank, n) = (world.rank() as usize, PER_RANK * world.size() as usize);
    let mut vector = world.allocate::<f64>(PER_RANK)?;
    for at in 0..PER_RANK {
        vector.local().set(at, (rank * PER_RANK + at) as f64);
    }
    // Row i has 2 at column i, and -1 at columns i + 5 and 7 * i, around the end.
    let rows = rank * PER_RANK..(rank + 1) * PER_RANK;
    let entries = |row: usize| [(row, 2.0), ((row + 5) % n, -1.0), (7 * row % n, -1.0)];
    let columns: Vec<usize> = rows.clone().flat_map(entries).map(|(column, _)| column).collect();
    let mut gathered = vec![0.0; columns.len()];
    // All ranks only read.
    vector.read_epoch(|reads| {
        for (column, place) in columns.iter().zip(gathered.chunks_mut(1)) {
            reads.get(place, column / PER_RANK, column % PER_RANK)?;
        }
        Ok(())
    })?;
    for (row, values) in rows.zip(gathered.chunks(3)) {
        let product: f64 = entries(row).iter().zip(values).map(|((_, factor), value)| factor * value).sum();
        assert_eq!(product, 2.0 * row as f64 - ((row + 5) % n) as f64 - (7 * row % n) as f64);
    }
    vector.free()
}
