//! Where an operation lies at the target, as bytes: a run behind a displacement, or a shape counted from it.
//!
//! A shape is loops around a short list of runs, so a regular datatype costs the same bytes whatever its
//! counts. What arrives is built by the constructors of [`Layout`], which check every sum; whether it lies in
//! the window is checked where the window is known.

use super::fields::{Head, Reader};
use crate::datatype::{Layout, Loop};
use crate::ids::Disp;
use smallvec::SmallVec;

/// Bytes that a shape needs besides its loops and runs.
pub(crate) const SHAPE_LEN: usize = 10;
/// Bytes of each loop and each run of a shape.
pub(crate) const ENTRY_LEN: usize = 16;

/// Where an operation is at the target: the displacement as the user gave it, scaled and checked at the target (lessons,
/// decision 9), and what is accessed from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// In units of the target's displacement unit.
    pub disp: Disp,
    /// What is accessed.
    pub area: Area,
}

/// Which bytes a request accesses, counted from the displacement. How many follows from the request's data or length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Area {
    /// Consecutive bytes.
    Run {
        /// The first one: where the datatype begins, and for later pieces of an operation more.
        offset: u64,
    },
    /// Bytes of a layout.
    Shape {
        /// Its body is a run or a list of runs. Apart, because most requests have none, and are moved a few times.
        layout: Box<Layout>,
        /// The first one, counted along the layout.
        from: u64,
    },
}

impl Area {
    /// Bytes that a shape adds to a request's head.
    pub(crate) fn shape_len(&self) -> usize {
        match self {
            Self::Run { .. } => 0,
            Self::Shape { layout, .. } => {
                let runs = layout.inner_runs().map_or(0, |runs| runs.len());
                SHAPE_LEN + ENTRY_LEN * (layout.loops().len() + runs)
            }
        }
    }
}

impl Place {
    /// Consecutive bytes from `offset` bytes behind the displacement on.
    pub fn run(disp: Disp, offset: u64) -> Self {
        Self { disp, area: Area::Run { offset } }
    }

    pub(super) fn is_shaped(&self) -> bool {
        matches!(self.area, Area::Shape { .. })
    }

    /// Where what is accessed begins: an offset, or a position along the shape.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        match self.area {
            Area::Run { offset: first } | Area::Shape { from: first, .. } => first,
        }
    }

    /// Puts the shape, if there is one, behind displacement and offset.
    pub(super) fn append_shape(&self, head: &mut Head) {
        let Area::Shape { layout, .. } = &self.area else { return };
        // The origin cuts shapes so that they fit a packet, which is far from 256 entries.
        let runs = layout.inner_runs().unwrap_or_default();
        head.push(layout.loops().len() as u8);
        head.push(runs.len() as u8);
        head.extend_from_slice(&layout.first().to_le_bytes());
        for Loop { count, stride } in layout.loops() {
            head.extend_from_slice(&count.to_le_bytes());
            head.extend_from_slice(&stride.to_le_bytes());
        }
        for (offset, len) in runs {
            head.extend_from_slice(&offset.to_le_bytes());
            head.extend_from_slice(&len.to_le_bytes());
        }
    }

    pub(super) fn parse(fields: &mut Reader<'_>, is_shaped: bool) -> Result<Self, &'static str> {
        let disp = Disp(fields.u64()?);
        let from = fields.u64()?;
        if !is_shaped {
            return Ok(Self::run(disp, from));
        }
        let (loops, runs) = (fields.u8()?, fields.u8()?);
        let first = fields.i64()?;
        let mut nest = SmallVec::<[Loop; 4]>::new();
        for _ in 0..loops {
            nest.push(Loop { count: fields.u64()?, stride: fields.i64()? });
        }
        let mut list = SmallVec::<[(i64, u64); 8]>::new();
        for _ in 0..runs {
            list.push((fields.i64()?, fields.u64()?));
        }
        let layout = Layout::of_entries(first, &nest, list).ok_or("a shape that does not fit 63 bits")?;
        if from >= layout.size() {
            return Err("a place behind the end of its shape");
        }
        Ok(Self { disp, area: Area::Shape { layout: Box::new(layout), from } })
    }
}
