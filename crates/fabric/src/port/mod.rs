//! An endpoint and its objects. Only this module calls through libfabric's tables. An endpoint is
//! used by one thread.

mod open;
mod transfer;

use std::cell::UnsafeCell;
use std::ffi::c_int;

use super::abi::{Av, Context, Cq, Domain, Ep, Fabric, Fid, Mr};
use super::error::FabricError;
use super::library::Library;
use super::memory::Memory;
use super::provider::Offers;
use super::words::Opened;

pub use transfer::{Done, Sent};

/// The error of an order that needs an endpoint when none is open.
pub const NO_ENDPOINT: FabricError = FabricError::Order("no endpoint is open");

/// An endpoint, opened step by step: each pointer is null until its object is open.
pub struct Port<'l> {
    library: &'l Library,
    offers: Offers<'l>,
    memory: Memory,
    /// One context per operation that may be in flight: `depth` for gets, puts and sends, `depth`
    /// for receives, and one for the word that ends a round.
    contexts: Box<[UnsafeCell<Context>]>,
    depth: usize,
    fabric: *mut Fabric,
    domain: *mut Domain,
    mr: *mut Mr,
    /// The key of the memory region, if the provider does not choose one: only the peer learns it.
    key: u64,
    ep: *mut Ep,
    cq: *mut Cq,
    av: *mut Av,
    /// The maximum length in bytes of a message that is sent without a completion.
    inject: usize,
    peer: Option<Remote>,
    opened: Option<Opened>,
}

/// The endpoint of the peer, once [`Port::meet`] has been called.
#[derive(Clone, Copy)]
struct Remote {
    address: u64,
    base: u64,
    key: u64,
}

impl Port<'_> {
    /// Returns the memory, which may be accessed only between rounds.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Returns whether a thread can sleep until an operation completes.
    pub fn sleeps(&self) -> bool {
        self.opened.as_ref().is_some_and(|opened| opened.sleeps)
    }

    /// Returns the maximum number of operations in flight.
    pub fn depth(&self) -> usize {
        self.depth
    }

    fn check(&self, operation: &'static str, answer: c_int) -> Result<(), FabricError> {
        match isize::try_from(answer).unwrap_or(0) {
            0 => Ok(()),
            error => Err(self.library.error(operation, error)),
        }
    }
}

impl Drop for Port<'_> {
    fn drop(&mut self) {
        // The memory first, since some providers bind it to the endpoint; then each object before
        // those that it depends on. All of them begin with a `Fid`.
        let all: [*mut Fid; 6] = [
            self.mr.cast(),
            self.ep.cast(),
            self.cq.cast(),
            self.av.cast(),
            self.domain.cast(),
            self.fabric.cast(),
        ];
        for fid in all.into_iter().filter(|fid| !fid.is_null()) {
            // SAFETY: the library has opened it, and it is closed once. What cannot be closed stays
            // until the process ends, which is soon.
            let _ = unsafe { ((*(*fid).ops).close)(fid) };
        }
    }
}
