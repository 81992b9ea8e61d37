//! Faults that are injected into a node (`--inject`), to test their detection.

use std::time::Duration;

use garland_protocol::copy::{Injection, Stall};
use garland_sys::sync::Mutex;

use crate::store::Store;

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

    /// Inverts the byte of the store that is to rot, if any, to emulate a medium that corrupts data.
    pub fn rot(&self, store: &dyn Store) {
        let Some(place) = self.rot else { return };
        let mut byte = [0];
        if store.read_at(place, &mut byte).is_ok() {
            // An error leaves the byte unchanged.
            let _ = store.write_at(place, &[!byte[0]]);
        }
    }

    /// Flips a bit of the byte that is to change in memory, if it is among `bytes`, which are those
    /// at `offset` of the source. It is flipped only once.
    pub fn flip(&self, offset: u64, bytes: &mut [u8]) {
        let mut flip = self.flip.lock();
        let Some(at) = flip.and_then(|place| place.checked_sub(offset)) else { return };
        if let Some(byte) = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at)) {
            *byte ^= 1;
            *flip = None;
        }
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
        faults.flip(0, &mut bytes);
        faults.flip(50, &mut bytes);
        faults.flip(101, &mut bytes);
        assert_eq!(bytes, [7; 50], "byte 100 lies elsewhere");
        faults.flip(90, &mut bytes);
        assert_eq!((bytes[9], bytes[10], bytes[11]), (7, 6, 7));
        faults.flip(90, &mut bytes);
        assert_eq!(bytes[10], 6, "it is flipped once");
    }
}
