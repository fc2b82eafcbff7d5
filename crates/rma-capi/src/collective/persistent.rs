//! Persistent collectives (MPI 5.0 §6.13): a nonblocking one that begins again with each start. What its arguments name is kept until
//! the request is freed: the ranks, the datatypes, the operation.

use super::begin::{Call, Started};
use crate::abi::{MPI_Datatype, MPI_Info, MPI_Op, MPI_Request};
use crate::arguments::Out;
use crate::communicator::CommTwin;
use crate::process::Process;
use crate::request::{Pending, Start, enter_persistent};
use crate::{datatype, info, op};
use rma::raw::PersistentStart;
use rma::{Error, ErrorClass, Result};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a persistent collective keeps besides its ranks.
pub(crate) struct Uses {
    _types: Vec<datatype::DatatypeUse>,
    op: Option<op::OpTwin>,
}

impl Uses {
    pub(crate) fn types(types: &[MPI_Datatype]) -> Self {
        Self { _types: types.iter().map(|ty| datatype::DatatypeUse::new(*ty)).collect(), op: None }
    }

    /// What a reduction keeps.
    ///
    /// # Errors
    /// `MPI_ERR_OP` or `MPI_ERR_TYPE` when there is no such reduction.
    pub(crate) fn reduction(op: MPI_Op, datatype: MPI_Datatype) -> Result<Self> {
        op::combine(op, datatype)?;
        let twin = op::OpTwin::of(op)
            .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for another operation"))?;
        Ok(Self { op: Some(twin), ..Self::types(&[datatype]) })
    }

    /// The operation, under a handle that stays good.
    pub(crate) fn op(&self) -> MPI_Op {
        self.op.as_ref().map_or(crate::abi::MPI_OP_NULL, op::OpTwin::handle)
    }
}

struct Again<F> {
    name: &'static str,
    process: &'static Process,
    comm: CommTwin,
    kept: Uses,
    begin: F,
    number: u64,
    starts: AtomicU64,
}

impl<F: Fn(Call, &Uses) -> Started + Send + Sync> Start for Again<F> {
    fn start(&self) -> Result<Box<dyn Pending>> {
        let call = Call::new(self.name, self.process, self.comm.handle())?;
        let start = PersistentStart { persistent: self.number, before: self.starts.fetch_add(1, Relaxed) };
        Ok((self.begin)(call.start(start), &self.kept)?.into_pending())
    }
}

/// Makes a request that begins the collective of this call each time it is started.
///
/// # Errors
/// `MPI_ERR_INFO` when `info` is none; `MPI_ERR_NO_MEM` when no handle is left.
pub(crate) fn init(
    call: Call,
    kept: Uses,
    info: MPI_Info,
    request: Out<MPI_Request>,
    begin: impl Fn(Call, &Uses) -> Started + Send + Sync + 'static,
) -> Result<()> {
    info::get_optional(info)?;
    let comm = CommTwin::of(call.comm)?;
    let (number, starts) = (call.next_persistent(), AtomicU64::new(0));
    let again = Again { name: call.name, process: call.process, comm, kept, begin, number, starts };
    request.set("request", enter_persistent(again, call.raiser())?)
}
