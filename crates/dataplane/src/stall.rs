//! Faults that are injected into a node (`--inject`), to test their detection.

use parking_lot::Mutex;
use std::time::Duration;

use garland_protocol::{Injection, Stall};

/// The faults that are injected into this node; usually none.
#[derive(Debug, Default)]
pub struct Faults {
    source: Option<Stalling>,
    sink: Option<Stalling>,
    sender: Option<Stalling>,
    fsync: Duration,
    control: Duration,
    rot: Option<u64>,
    /// The offset of a byte that is still to be flipped.
    flip: Mutex<Option<u64>>,
}

/// A part of the node that pauses at intervals.
#[derive(Debug)]
struct Stalling {
    stall: Stall,
    /// The number of bytes until the next pause. During a pause all threads wait, as for one disk.
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

    /// Pauses before `bytes` bytes are read from the source, if such pauses are injected.
    pub fn before_reading(&self, bytes: usize) {
        self.source.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// Pauses before `bytes` bytes are written, if such pauses are injected.
    pub fn before_writing(&self, bytes: usize) {
        self.sink.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// Pauses before `bytes` bytes are sent, if such pauses are injected.
    pub fn before_sending(&self, bytes: usize) {
        self.sender.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// Returns the injected additional time of making the file stable, if any.
    pub fn fsync(&self) -> Option<Duration> {
        Some(self.fsync).filter(|longer| !longer.is_zero())
    }

    /// Returns the offset of a byte that the medium corrupts, if any.
    pub fn rot(&self) -> Option<u64> {
        self.rot
    }

    /// Returns the position, among the `length` bytes at `offset`, of the byte that is corrupted in
    /// the source's memory; only once.
    pub fn flip(&self, offset: u64, length: usize) -> Option<usize> {
        let mut flip = self.flip.lock();
        let byte = flip.and_then(|place| usize::try_from(place.checked_sub(offset)?).ok());
        let byte = byte.filter(|byte| *byte < length)?;
        *flip = None;
        Some(byte)
    }

    /// Returns the delay of answers to the head's orders.
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
            std::thread::sleep(Duration::from_nanos(pause_ns));
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
}
