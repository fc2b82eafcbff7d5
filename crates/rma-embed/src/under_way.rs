//! Calls that have begun and go on: synchronization, frees and operations with a request.

use crate::entry::entry;
use crate::handle::{CALL, Table};
use crate::pointer::Out;
use parking_lot::Mutex;
use rma_core::window::{Detaching, OperationRequest, Sync, Window, WindowFree};
use rma_core::{Result, describe};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// A call under way.
pub(crate) enum EngineCall {
    Sync(Window, Sync),
    Free(WindowFree),
    Request(OperationRequest),
    Detach(Detaching),
}

static CALLS: Table<Arc<Mutex<EngineCall>>> = Table::new(CALL, "a call");

impl EngineCall {
    fn poll(&mut self) -> Result<bool> {
        match self {
            Self::Sync(window, sync) => window.poll_sync(sync),
            Self::Free(free) => free.poll(),
            Self::Request(request) => request.is_complete(),
            Self::Detach(detaching) => Ok(detaching.is_over()),
        }
    }

    /// A clause behind "for".
    fn waits_for(&self) -> String {
        match self {
            Self::Sync(window, sync) => describe::synchronization(window, sync).text,
            Self::Free(free) => describe::release(free).text,
            Self::Request(request) => request.awaited().text,
            Self::Detach(_) => "transfers into the memory to end".to_owned(),
        }
    }
}

/// The handle of a call that has begun: 0 when it is over already.
pub(crate) fn enter_started(mut call: EngineCall) -> Result<u64> {
    Ok(if call.poll()? { 0 } else { CALLS.insert(Arc::new(Mutex::new(call))) })
}

entry! {
    /// `rma_call_poll`.
    fn rma_call_poll(call: u64, done: Out<c_int>) {
        let place = done.needed("done")?;
        if call == 0 {
            place.set(1);
            return Ok(());
        }
        let polled = CALLS.get(call)?.lock().poll();
        if !matches!(polled, Ok(false)) {
            CALLS.take(call)?;
        }
        place.set(c_int::from(polled?));
        Ok(())
    }

    /// `rma_call_waits_for`.
    fn rma_call_waits_for(call: u64, text: Out<c_char>, len: usize) {
        let under_way = CALLS.get(call)?;
        let clause = under_way.lock().waits_for();
        text.set_text(len, &clause);
        Ok(())
    }

    /// `rma_call_forget`.
    fn rma_call_forget(call: u64) {
        if call == 0 { Ok(()) } else { CALLS.take(call).map(drop) }
    }
}
