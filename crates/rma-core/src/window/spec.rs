//! What a rank brings to the creation of a window, one form for each flavor (MPI 4.1 §12.2.1 to §12.2.4).

use crate::error::{Error, ErrorClass, Result};
use crate::host::{SegmentKind, SegmentRequest};
use crate::mem::WriteSpan;
use crate::state::Flavor;

/// What a rank brings to the creation of a window. All ranks of a group bring the same form.
#[derive(Clone, Copy, Debug)]
pub enum WindowSpec {
    /// The library allocates `len` zeroed bytes (`MPI_Win_allocate`).
    Allocate {
        /// Bytes on this rank; may be 0.
        len: u64,
        /// Displacement unit in bytes.
        unit: u64,
    },
    /// The library allocates `len` zeroed bytes that every rank maps (`MPI_Win_allocate_shared`).
    AllocateShared {
        /// Bytes on this rank; may be 0.
        len: u64,
        /// Displacement unit in bytes.
        unit: u64,
        /// Whether each rank's bytes follow those of the rank before, or begin at a page; as on all ranks.
        is_contiguous: bool,
    },
    /// The user's memory (`MPI_Win_create`). The span's maker has promised that it outlives the window.
    Create {
        /// The memory on this rank; may be empty.
        memory: WriteSpan,
        /// Displacement unit in bytes.
        unit: u64,
    },
    /// No memory yet: it is attached and detached later (`MPI_Win_create_dynamic`). Displacements are addresses.
    Dynamic,
}

impl WindowSpec {
    /// How the window comes by its memory.
    pub fn flavor(&self) -> Flavor {
        match self {
            Self::Allocate { .. } => Flavor::Allocate,
            Self::AllocateShared { .. } => Flavor::Shared,
            Self::Create { .. } => Flavor::Create,
            Self::Dynamic => Flavor::Dynamic,
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Allocate { len, .. } | Self::AllocateShared { len, .. } => *len,
            Self::Create { memory, .. } => memory.len() as u64,
            Self::Dynamic => 0,
        }
    }

    pub(super) fn unit(&self) -> u64 {
        match self {
            Self::Allocate { unit, .. } | Self::AllocateShared { unit, .. } | Self::Create { unit, .. } => {
                *unit
            }
            Self::Dynamic => 1,
        }
    }

    /// The memory that the rank has already.
    pub(super) fn own_memory(&self) -> Option<WriteSpan> {
        match self {
            Self::Create { memory, .. } => Some(*memory),
            Self::Allocate { .. } | Self::AllocateShared { .. } | Self::Dynamic => None,
        }
    }

    /// What to ask of the host, with so much control memory, and data aligned so.
    pub(super) fn segment(&self, control_len: u64, data_align: u64) -> SegmentRequest {
        let kind = match self {
            Self::Allocate { .. } => SegmentKind::Separate,
            Self::AllocateShared { is_contiguous: true, .. } => SegmentKind::Contiguous,
            Self::AllocateShared { is_contiguous: false, .. } => SegmentKind::Scattered,
            Self::Create { .. } => SegmentKind::Given,
            Self::Dynamic => SegmentKind::Control,
        };
        let given = self.own_memory().unwrap_or(WriteSpan::EMPTY);
        SegmentRequest { control_len, data_len: self.len(), data_align, kind, given }
    }

    pub(super) fn check(&self, call: &'static str) -> Result<()> {
        if self.len() > isize::MAX as u64 {
            let cause = format!("size {} is over the largest possible, {}", self.len(), isize::MAX);
            return Err(Error::new(ErrorClass::Size, call, cause));
        }
        if self.unit() == 0 || self.unit() > isize::MAX as u64 {
            let cause = format!("displacement unit {} is not in 1 to {}", self.unit(), isize::MAX);
            return Err(Error::new(ErrorClass::Disp, call, cause));
        }
        Ok(())
    }
}
