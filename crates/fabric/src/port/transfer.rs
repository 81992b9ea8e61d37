//! Starts operations, and collects completions.

use std::ffi::c_void;
use std::ptr;
use std::time::Duration;

use super::super::abi::{Context, CqEntry, CqErrEntry, FI_EAVAIL};
use super::super::error::FabricError;
use super::super::memory::Ring;
use super::super::words::Kind;
use super::{Port, Remote};

/// The maximum number of completions that one call reads.
const BATCH: usize = 16;

const EAGAIN: isize = -(libc::EAGAIN as isize);
const EINTR: isize = -(libc::EINTR as isize);

/// A completed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The get or put of this slot, or the send with this number, has completed.
    Went(usize),
    /// The receive into this slot has completed.
    Came(usize),
    /// The word that ends a round was sent or received.
    Word,
}

/// The result of starting a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The send was not started, since the queue is full.
    Busy,
    /// The send is in flight; a completion follows.
    UnderWay,
    /// The bytes were copied, so the send is done; no completion follows.
    Taken,
}

/// The buffer of a send or receive, and the index of its context.
#[derive(Clone, Copy)]
struct Piece {
    offset: usize,
    size: usize,
    context: usize,
}

impl Port<'_> {
    /// Starts the get or put of `size` bytes of slot `slot`. Returns false if the queue has no
    /// space.
    pub fn reach(&mut self, kind: Kind, slot: usize, size: u32) -> Result<bool, FabricError> {
        let Remote { address, base, key } = self.remote()?;
        let (near, far) = match kind {
            Kind::Get => (Ring::Sink, Ring::Source),
            Kind::Put | Kind::Msg => (Ring::Source, Ring::Sink),
        };
        let offset = self.place(near, slot, size)?;
        let there = base.wrapping_add(self.place(far, slot, size)? as u64);
        let context = self.context(slot)?;
        let start = self.memory.at(offset);
        let length = size as usize;
        let ep = self.ep;
        // SAFETY: the endpoint is enabled. The bytes are inside its registered memory, which stays
        // until it is closed, as does the context, which no other operation in flight uses.
        let answer = unsafe {
            let table = (*ep).rma;
            let local = (*self.mr).mem_desc;
            match kind {
                Kind::Get => {
                    ((*table).read)(ep, start, length, local, address, there, key, context)
                }
                Kind::Put | Kind::Msg => {
                    ((*table).write)(ep, start, length, local, address, there, key, context)
                }
            }
        };
        self.begun(if kind == Kind::Get { "starting a get" } else { "starting a put" }, answer)
    }

    /// Sends the first `size` bytes of slot `slot` of a ring. `number` identifies the send in
    /// [`Done::Went`]; no other operation with this number may be in flight.
    pub fn send(
        &mut self,
        ring: Ring,
        slot: usize,
        number: usize,
        size: u32,
    ) -> Result<Sent, FabricError> {
        let offset = self.place(ring, slot, size)?;
        self.send_piece(Piece { offset, size: size as usize, context: number })
    }

    /// Sends the word that ends a round. Unless the queue is full, a completion follows.
    pub fn send_word(&mut self) -> Result<Sent, FabricError> {
        let piece = Piece { offset: self.memory.word(), size: 1, context: 2 * self.depth };
        // The send was not copied: it must make progress before this side stops polling.
        let inject = std::mem::take(&mut self.inject);
        let sent = self.send_piece(piece);
        self.inject = inject;
        sent
    }

    fn send_piece(&mut self, piece: Piece) -> Result<Sent, FabricError> {
        let address = self.remote()?.address;
        let context = self.context(piece.context)?;
        let start = self.memory.at(piece.offset);
        let ep = self.ep;
        if piece.size <= self.inject {
            // SAFETY: as in `reach`; the bytes are copied before the call returns.
            let answer = unsafe { ((*(*ep).msg).inject)(ep, start, piece.size, address) };
            let taken = self.begun("sending a message", answer)?;
            return Ok(if taken { Sent::Taken } else { Sent::Busy });
        }
        // SAFETY: as in `reach`.
        let answer = unsafe {
            let table = (*ep).msg;
            let local = (*self.mr).mem_desc;
            ((*table).send)(ep, start, piece.size, local, address, context)
        };
        let begun = self.begun("sending a message", answer)?;
        Ok(if begun { Sent::UnderWay } else { Sent::Busy })
    }

    /// Posts a receive of `size` bytes into slot `slot`. Returns false if the queue has no space.
    pub fn receive(&mut self, slot: usize, size: u32) -> Result<bool, FabricError> {
        let offset = self.place(Ring::Sink, slot, size)?;
        let context = self.depth + slot;
        self.receive_piece(Piece { offset, size: size as usize, context })
    }

    /// Posts the receive of the word that ends a round. Returns false if the queue has no space.
    pub fn receive_word(&mut self) -> Result<bool, FabricError> {
        let piece = Piece { offset: self.memory.word() + 8, size: 8, context: 2 * self.depth };
        self.receive_piece(piece)
    }

    fn receive_piece(&mut self, piece: Piece) -> Result<bool, FabricError> {
        let address = self.remote()?.address;
        let context = self.context(piece.context)?;
        let start = self.memory.at(piece.offset);
        let ep = self.ep;
        // SAFETY: as in `reach`.
        let answer = unsafe {
            let table = (*ep).msg;
            let local = (*self.mr).mem_desc;
            ((*table).recv)(ep, start, piece.size, local, address, context)
        };
        self.begun("posting a receive", answer)
    }

    /// Appends completed operations to `done` without waiting; lets the provider make progress.
    pub fn look(&mut self, done: &mut Vec<Done>) -> Result<(), FabricError> {
        self.read(done, None)
    }

    /// Waits until an operation completes or `time` has passed; appends completed operations to
    /// `done`.
    pub fn sleep(&mut self, done: &mut Vec<Done>, time: Duration) -> Result<(), FabricError> {
        self.read(done, Some(time))
    }

    fn read(&mut self, done: &mut Vec<Done>, time: Option<Duration>) -> Result<(), FabricError> {
        let mut entries = [CqEntry { op_context: ptr::null_mut() }; BATCH];
        let start = entries.as_mut_ptr().cast::<c_void>();
        let cq = self.cq;
        // SAFETY: the queue is open, of this format, and writes `BATCH` entries at most.
        let answer = unsafe {
            let table = (*cq).ops;
            match time {
                None => ((*table).read)(cq, start, BATCH),
                Some(time) => {
                    let millis = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
                    ((*table).sread)(cq, start, BATCH, ptr::null(), millis)
                }
            }
        };
        match usize::try_from(answer) {
            Ok(count) => {
                for entry in &entries[..count.min(BATCH)] {
                    done.extend(self.done(entry.op_context));
                }
                Ok(())
            }
            Err(_) if answer == EAGAIN || answer == EINTR => Ok(()),
            Err(_) if answer == -FI_EAVAIL => Err(self.failure()),
            Err(_) => Err(self.library.error("reading completions", answer)),
        }
    }

    /// Returns the operation that a context belongs to. Returns `None` for other contexts:
    /// providers may report completions that were not requested.
    fn done(&self, context: *mut c_void) -> Option<Done> {
        let first = self.contexts.as_ptr() as usize;
        let bytes = (context as usize).checked_sub(first)?;
        let number = bytes / size_of::<Context>();
        match number {
            _ if number < self.depth => Some(Done::Went(number)),
            _ if number < 2 * self.depth => Some(Done::Came(number - self.depth)),
            _ if number == 2 * self.depth => Some(Done::Word),
            _ => None,
        }
    }

    /// Reads the error of a failed operation from the completion queue.
    fn failure(&mut self) -> FabricError {
        // SAFETY: it has only numbers and pointers, which can be zero.
        let mut entry: CqErrEntry = unsafe { std::mem::zeroed() };
        let cq = self.cq;
        // SAFETY: the queue is open; the entry has space for fields of later versions, and says
        // that it has none for the provider's data.
        let answer = unsafe { ((*(*cq).ops).readerr)(cq, &raw mut entry, 0) };
        let error = if answer > 0 { entry.err as isize } else { answer };
        self.library.error("an operation failed", error)
    }

    fn begun(&self, operation: &'static str, answer: isize) -> Result<bool, FabricError> {
        match answer {
            0 => Ok(true),
            EAGAIN => Ok(false),
            error => Err(self.library.error(operation, error)),
        }
    }

    fn remote(&self) -> Result<Remote, FabricError> {
        self.peer.ok_or(FabricError::Order("the address of the other node's endpoint is not known"))
    }

    fn place(&self, ring: Ring, slot: usize, size: u32) -> Result<usize, FabricError> {
        let place = self.memory.slot(ring, slot, size);
        place.ok_or(FabricError::Order("a slot is outside of the memory"))
    }

    fn context(&self, number: usize) -> Result<*mut c_void, FabricError> {
        let context = self.contexts.get(number).map(|context| context.get().cast());
        context
            .ok_or(FabricError::Order("more operations in flight than the endpoint was opened for"))
    }
}
