//! Faults that are injected into a node (`--inject`), to test their detection.

use std::time::Duration;

use garland_protocol::copy::{Injection, Stall};
use garland_sys::sync::Mutex;

use crate::store::{Store, StoreError};

/// The faults that are injected into this node; none by default.
#[derive(Debug, Default)]
pub struct Faults {
    source: Option<Stalling>,
    sink: Option<Stalling>,
    sender: Option<Stalling>,
    fsync: Duration,
    control: Duration,
    rot: Option<u64>,
    /// The offset in the source or the node's file of the byte to flip, until it has been flipped.
    flip: Mutex<Option<u64>>,
}

/// Pauses of one activity (reading, writing or sending), each after a number of bytes.
#[derive(Debug)]
struct Stalling {
    stall: Stall,
    /// The number of bytes until the next pause. The mutex stays locked during a pause, so that all
    /// threads wait.
    left: Mutex<u64>,
}

impl Faults {
    /// Returns the faults of `injections`. Of each kind only the last one counts.
    pub fn new(injections: &[Injection]) -> Self {
        let mut faults = Self::default();
        let stalling = |stall: Stall| Some(Stalling { stall, left: Mutex::new(stall.first) });
        for injection in injections {
            match *injection {
                Injection::SourceDisk(stall) => faults.source = stalling(stall),
                Injection::SinkDisk(stall) => faults.sink = stalling(stall),
                Injection::Pause(stall) => faults.sender = stalling(stall),
                Injection::Fsync(ns) => faults.fsync = Duration::from_nanos(ns),
                Injection::Rot(place) => faults.rot = Some(place),
                Injection::Flip(place) => faults.flip = Mutex::new(Some(place)),
                Injection::Control(ns) => faults.control = Duration::from_nanos(ns),
            }
        }
        faults
    }

    /// Pauses before `bytes` bytes are read from the source, if an injected pause is due.
    pub fn before_reading(&self, bytes: usize) {
        self.source.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// Pauses before `bytes` bytes are written, if an injected pause is due.
    pub fn before_writing(&self, bytes: usize) {
        self.sink.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// Pauses before `bytes` bytes are sent, if an injected pause is due.
    pub fn before_sending(&self, bytes: usize) {
        self.sender.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// Returns the injected time by which syncing the file takes longer, if any.
    pub fn fsync(&self) -> Option<Duration> {
        Some(self.fsync).filter(|longer| !longer.is_zero())
    }

    /// Inverts the byte of the store that is to rot, if any, to emulate a medium that corrupts
    /// data.
    ///
    /// # Errors
    /// When the store has no such byte, or it cannot be changed.
    pub fn rot(&self, store: &dyn Store) -> Result<(), StoreError> {
        let Some(place) = self.rot else { return Ok(()) };
        let mut byte = [0];
        let read = store.read_at(place, &mut byte);
        read.and_then(|()| store.write_at(place, &[!byte[0]])).map_err(|error| {
            let what = format!("byte {place} of {}", store.name());
            StoreError::path("inject rot into", what, &error)
        })
    }

    /// Returns whether the byte that is to change in memory is among the `length` bytes at `offset`
    /// of the source, and has not changed yet.
    pub fn is_to_flip(&self, offset: u64, length: usize) -> bool {
        let at = self.flip.lock().and_then(|place| place.checked_sub(offset));
        at.is_some_and(|at| at < length as u64)
    }

    /// Flips a bit of the byte that is to change in memory, if it is among `bytes`, which are those
    /// at `offset` of the source. It is flipped only once. Returns whether it was.
    pub fn flip(&self, offset: u64, bytes: &mut [u8]) -> bool {
        let mut flip = self.flip.lock();
        let Some(at) = flip.and_then(|place| place.checked_sub(offset)) else { return false };
        let byte = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at));
        let Some(byte) = byte else { return false };
        *byte ^= 1;
        *flip = None;
        true
    }

    /// Returns the injected delay of answers to the head's orders; 0 if there is none.
    pub fn control(&self) -> Duration {
        self.control
    }
}

impl Stalling {
    fn pass(&self, bytes: usize) {
        let Stall { pause_ns, every, .. } = self.stall;
        let bytes = bytes as u64;
        let mut left = self.left.lock();
        while *left < bytes {
            *left = left.saturating_add(every.max(1));
            garland_sys::threads::sleep(Duration::from_nanos(pause_ns));
        }
        *left -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use garland_sys::clock;

    use super::*;

    #[test]
    fn a_pause_precedes_its_bytes_and_stops_all_threads() {
        let stall = Stall { pause_ns: 20_000_000, every: 100, first: 0 };
        let faults = Faults::new(&[Injection::SinkDisk(stall)]);
        let began = clock::now_ns();
        std::thread::scope(|scope| {
            scope.spawn(|| faults.before_writing(250));
            faults.before_writing(250);
        });
        let took = clock::now_ns() - began;
        assert!(took >= 100_000_000, "500 bytes are 5 pauses of 20 ms: {took} ns");
        // Other programs may delay it, but not each time.
        let quick = (0..10).any(|_| {
            let began = clock::now_ns();
            faults.before_reading(1000);
            faults.before_sending(1000);
            clock::now_ns() - began < 20_000_000
        });
        assert!(quick, "nothing else is slow");
    }

    #[test]
    fn a_byte_is_flipped_once_and_only_among_those_that_have_it() {
        let faults = Faults::new(&[Injection::Flip(100)]);
        let mut bytes = [7; 50];
        assert!([0, 50, 101].iter().all(|&offset| !faults.flip(offset, &mut bytes)));
        assert_eq!(bytes, [7; 50], "byte 100 lies elsewhere");
        assert!(faults.is_to_flip(90, 11) && !faults.is_to_flip(90, 10));
        assert!(faults.flip(90, &mut bytes) && !faults.is_to_flip(90, 50));
        assert_eq!((bytes[9], bytes[10], bytes[11]), (7, 6, 7));
        assert!(!faults.flip(90, &mut bytes));
        assert_eq!(bytes[10], 6, "it is flipped once");
    }
}
