//! Where an operation lies at the target, as bytes: a run behind a displacement, or a shape counted from it.
//!
//! A shape is loops around a list of runs, so a regular datatype costs the same bytes whatever its counts. A run is the gap
//! between it and the one before, and its length, in numbers as short as the list allows:
//!
//! ```text
//!   loops u16, runs u16, bytes of a number u8, first byte i64,  loops × (count u64, stride i64),  runs × (gap, length)
//! ```
//!
//! What arrives is built by the constructors of [`Layout`], which check every sum; whether it lies in the window is checked
//! where the window is known.

use super::fields::{Head, Reader};
use crate::datatype::{LOOP_LEN, Layout, ListOfRuns, Loop, NumberLen};
use crate::ids::Disp;
use smallvec::SmallVec;

/// Bytes that a shape needs besides its loops and runs.
pub(crate) const SHAPE_LEN: usize = 13;

/// Where an operation is at the target: the displacement as the user gave it, scaled and checked at the target (lessons,
/// decision 9), and what is accessed from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetPlace {
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
            Self::Shape { layout, .. } => SHAPE_LEN + layout.described_len().unwrap_or(0),
        }
    }
}

impl TargetPlace {
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
        let Some(len) = layout.described_len() else { return };
        head.reserve(SHAPE_LEN + len);
        // The origin cuts shapes so that they fit a packet, and `RMA_SHAPE_ENTRIES` is at most 65,535.
        head.extend_from_slice(&(layout.loops().len() as u16).to_le_bytes());
        head.extend_from_slice(&(layout.number_of_runs().unwrap_or(0) as u16).to_le_bytes());
        head.push(layout.number_len().bytes() as u8);
        head.extend_from_slice(&layout.first().to_le_bytes());
        for Loop { count, stride } in layout.loops() {
            head.extend_from_slice(&count.to_le_bytes());
            head.extend_from_slice(&stride.to_le_bytes());
        }
        match layout.number_len() {
            NumberLen::Two => append_runs::<2, 4>(head, layout),
            NumberLen::Four => append_runs::<4, 8>(head, layout),
            NumberLen::Eight => append_runs::<8, 16>(head, layout),
        }
    }

    pub(super) fn parse(fields: &mut Reader<'_>, is_shaped: bool) -> Result<Self, &'static str> {
        let disp = Disp(fields.u64()?);
        let from = fields.u64()?;
        if !is_shaped {
            return Ok(Self::run(disp, from));
        }
        let (loops, runs) = (fields.u16()?, usize::from(fields.u16()?));
        let number_len = fields.u8()?;
        let first = fields.i64()?;
        let mut nest = SmallVec::<[Loop; 4]>::new();
        for entry in fields.entries::<LOOP_LEN>(usize::from(loops))? {
            let [count, stride] = numbers::<8, LOOP_LEN>(entry);
            nest.push(Loop { count, stride: stride as i64 });
        }
        let list = match number_len {
            2 => parse_runs::<2, 4>(fields.entries(runs)?),
            4 => parse_runs::<4, 8>(fields.entries(runs)?),
            8 => parse_runs::<8, 16>(fields.entries(runs)?),
            _ => return Err("numbers of a shape of a length that they do not have"),
        };
        let layout = list
            .and_then(|layout| layout.repeated_from(first, &nest))
            .ok_or("a shape that does not fit 63 bits")?;
        if from >= layout.size() {
            return Err("a place behind the end of its shape");
        }
        Ok(Self { disp, area: Area::Shape { layout: Box::new(layout), from } })
    }
}

/// Puts the runs of a layout behind the rest, in numbers of `N` bytes, which hold them; `TWICE` is what that says.
fn append_runs<const N: usize, const TWICE: usize>(head: &mut Head, layout: &Layout) {
    let before = head.len();
    head.resize(before + TWICE * layout.number_of_runs().unwrap_or(0), 0);
    let (entries, _) = head[before..].as_chunks_mut::<TWICE>();
    entries.iter_mut().zip(layout.inner_runs()).for_each(|(entry, (gap, len))| {
        entry[..N].copy_from_slice(&gap.to_le_bytes()[..N]);
        entry[N..].copy_from_slice(&len.to_le_bytes()[..N]);
    });
}

fn parse_runs<const N: usize, const TWICE: usize>(entries: &[[u8; TWICE]]) -> Option<Layout> {
    let mut runs = ListOfRuns::with_room(entries.len());
    let mut past = 0_i64;
    for entry in entries {
        let [gap, len] = numbers::<N, TWICE>(entry);
        // The highest bit of a gap is its sign.
        let unused = 64 - 8 * N as u32;
        let offset = past.checked_add((gap << unused) as i64 >> unused)?;
        past = offset.checked_add_unsigned(len)?;
        runs.push(offset, len)?;
    }
    runs.into_layout()
}

/// The two numbers of an entry, of `N` bytes each.
#[inline]
fn numbers<const N: usize, const TWICE: usize>(entry: &[u8; TWICE]) -> [u64; 2] {
    [&entry[..N], &entry[N..]].map(|bytes| {
        let mut number = [0; 8];
        number[..N].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    })
}
