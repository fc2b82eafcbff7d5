//! Transpose: a square matrix lies in blocks of rows; each block goes to its place by one put, and a layout turns it on the way.

use rma::window::Layout;
use rma::{Result, World};

const BLOCK: usize = 3;

pub(crate) fn run(world: &World) -> Result<()> {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let cols = BLOCK * ranks;
    let value = |row: usize, col: usize| (row * cols + col) as u64;
    let rows: Vec<u64> = (0..BLOCK * cols).map(|at| value(rank * BLOCK + at / cols, at % cols)).collect();
    let mut turned = world.allocate::<u64>(BLOCK * cols)?;
    // The block by columns, and by rows.
    let by_columns = Layout::with_strides(&[BLOCK, BLOCK], &[1, cols])?;
    let by_rows = Layout::with_strides(&[BLOCK, BLOCK], &[cols, 1])?;
    turned.fence_epoch(|epoch| {
        for target in 0..ranks {
            epoch.put_layout(&rows[target * BLOCK..], &by_columns, target, rank * BLOCK, &by_rows)?;
        }
        Ok(())
    })?;
    let expected = (0..BLOCK * cols).map(|at| value(at % cols, rank * BLOCK + at / cols));
    assert!(turned.local().to_vec().into_iter().eq(expected));
    turned.free()
}
