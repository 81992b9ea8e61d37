//! An open remote file.

use std::ops::Range;
use std::sync::Arc;

use crate::address::Address;
use crate::ahead::{Ahead, PART};
use crate::names::Names;
use crate::origin::{Opened, Origin, runtime};
use crate::spool::Spool;
use crate::store::StorePath;
use crate::transport::Transport;
use crate::trouble::Trouble;
use crate::waiting::Waiting;

/// An open remote file, pinned to the version that was opened.
pub struct Object {
    origin: Arc<Origin>,
    body: Body,
    stop: Box<dyn Fn() -> bool + Send + Sync>,
}

enum Body {
    Ahead(Ahead),
    Spool(Spool),
}

impl Object {
    /// Opens the object at `address` and starts to read it. `names` resolves host names; once
    /// `stop` returns true, waiting reads fail.
    ///
    /// # Errors
    /// When it cannot be read; the error says what to do.
    pub fn open(
        address: &Address,
        names: Names,
        stop: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Self, Trouble> {
        let waiting = Waiting { address, stale: &stop };
        let Opened { origin, stream, in_ranges } = begin(address, names, &waiting)?;
        let origin = Arc::new(origin);
        let body = if in_ranges {
            Body::Ahead(Ahead::start(Arc::clone(&origin), stream)?)
        } else {
            Body::Spool(Spool::start(Arc::clone(&origin), stream)?)
        };
        Ok(Self { origin, body, stop: Box::new(stop) })
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.origin.pinned.size
    }

    /// Returns the modification time if the server reports it: seconds and nanoseconds since the
    /// start of 1970.
    #[must_use]
    pub fn time(&self) -> Option<(i64, u32)> {
        let modified = self.origin.pinned.last_modified;
        let modified = (modified.timestamp(), modified.timestamp_subsec_nanos());
        // The library returns a time in 1970 if the server reports no time.
        Some(modified).filter(|modified| *modified != (0, 0))
    }

    /// Returns the address of the object.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.origin.address
    }

    /// Fills `bytes` with the contents from `offset` on, of the version that was opened.
    ///
    /// # Errors
    /// When they cannot be read, or the object has changed.
    pub fn fill(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
        let waiting = Waiting { address: self.address(), stale: &self.stop };
        match &self.body {
            Body::Ahead(ahead) => ahead.read(0, offset, bytes, &waiting),
            Body::Spool(spool) => spool.read(offset, bytes, &waiting),
        }
    }

    /// Waits until the bytes of `range` can be read without waiting.
    ///
    /// # Errors
    /// When the bytes cannot be read, or `stale` returns true.
    pub fn wait(&self, range: Range<u64>, stale: &dyn Fn() -> bool) -> Result<(), Trouble> {
        let is_over = || (self.stop)() || stale();
        let waiting = Waiting { address: self.address(), stale: &is_over };
        match &self.body {
            Body::Ahead(ahead) => ahead.wait(range, &waiting),
            Body::Spool(spool) => spool.wait(range.end, &waiting),
        }
    }
}

/// Opens the object in another thread, so that this thread can stop waiting.
fn begin(address: &Address, names: Names, waiting: &Waiting<'_>) -> Result<Opened, Trouble> {
    let at = StorePath::open(address, Transport::new(names)?)?;
    let address = address.clone();
    waiting.for_thread("open", move || runtime()?.block_on(Origin::open(&address, at, PART)))
}
