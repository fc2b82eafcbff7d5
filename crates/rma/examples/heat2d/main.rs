//! Heat diffusion on a plate, cut into blocks of rows; neighbours exchange their edge rows by one-sided operations.
//!
//! The serial halves ([`heat`], [`picture`]) know no ranks; [`halo`] is how ranks exchange what those compute. Each rank runs the
//! same serial functions on its share, so that the result can be compared with a serial run bit by bit.

#[path = "../common/mod.rs"]
mod common;
mod halo;
mod heat;
mod picture;

use clap::{Parser, ValueEnum};
use common::{Refusal, all_or_nobody, bar, report_packets, share};
use halo::{Halo, Synchronization};
use heat::{Block, Plate};
use picture::PictureFile;
use rma::{ReduceOp, World};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// 2-D heat diffusion with one-sided halo exchange.
#[derive(Parser)]
#[command(name = "heat2d", version)]
struct Options {
    /// Rows of the plate, edges included
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Columns of the plate, edges included
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    cols: u32,
    /// Time steps
    #[arg(long, default_value_t = 1000)]
    steps: u64,
    /// How ranks synchronize
    #[arg(long, value_enum, default_value_t = Sync::Fence)]
    sync: Sync,
    /// Picture to write at the end
    #[arg(long, default_value = "heat2d.png")]
    output: PathBuf,
    /// Write no picture
    #[arg(long)]
    no_picture: bool,
    /// Compare the result bit by bit with a serial run on rank 0
    #[arg(long)]
    check: bool,
    /// Print how many one-sided packets each channel carried
    #[arg(long)]
    packets: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sync {
    Fence,
    Lock,
}

fn main() -> ExitCode {
    common::main(run)
}

fn run(world: &World, options: &Options) -> Result<(), Box<dyn Error>> {
    let picture = match world.rank() {
        0 if !options.no_picture => PictureFile::open(&options.output).map(Some),
        _ => Ok(None),
    };
    let picture = all_or_nobody(world, picture.map_err(refusal))?;
    let plate = Plate { rows: options.rows as usize, cols: options.cols as usize, conduction: 0.2 };
    let rows = share(plate.rows as u64, world.size(), world.rank());
    let mut block = Block::new(plate, rows.start as usize..rows.end as usize);
    let synchronization = match options.sync {
        Sync::Fence => Synchronization::Fence,
        Sync::Lock => Synchronization::Lock,
    };
    let mut halo = Halo::new(world, &block, plate.cols, synchronization)?;
    let bar = bar(world.rank(), options.steps);
    world.barrier()?;
    let start = Instant::now();
    let mut change = 0.0;
    for _ in 0..options.steps {
        halo.exchange(&mut block)?;
        change = block.step();
        bar.inc(1);
    }
    world.barrier()?;
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    halo.free()?;
    let residual = world.allreduce(ReduceOp::Max, &[change])?[0];
    if options.packets {
        report_packets(world)?;
    }
    let parts = world.gather(0, block.cells())?;
    let reported = parts.map_or(Ok(()), |parts| {
        let cells = parts.concat();
        let updates = cells.len() as f64 * options.steps as f64;
        println!("{} x {} cells, {} steps on {} ranks", plate.rows, plate.cols, options.steps, world.size());
        println!("{:.4e} cells/s, residual {residual:.6e}", updates / seconds.max(f64::MIN_POSITIVE));
        if options.check {
            check(plate, options.steps, &cells, residual)?;
        }
        if let Some(picture) = picture {
            picture.write(&cells, plate.cols)?;
            println!("wrote {}", options.output.display());
        }
        Ok(())
    });
    all_or_nobody(world, reported.map_err(refusal))
}

fn refusal(error: String) -> Refusal {
    Refusal::new(format!("heat2d: {error}"))
}

fn check(plate: Plate, steps: u64, cells: &[f64], residual: f64) -> Result<(), String> {
    let (serial, serial_residual) = plate.solve(steps);
    let is_equal = |a: f64, b: f64| a.to_bits() == b.to_bits();
    let different = cells.iter().zip(&serial).filter(|(a, b)| !is_equal(**a, **b)).count();
    if different > 0 || cells.len() != serial.len() || !is_equal(residual, serial_residual) {
        return Err(format!(
            "{different} of {} cells differ from the serial run; residual {residual:e}, serial {serial_residual:e}",
            serial.len()
        ));
    }
    println!("equal to the serial run, bit by bit");
    Ok(())
}
