//! Known faults of a node (`--inject`), to test what must find them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use garland_protocol::{Injection, Stall};

/// What is wrong with this node on purpose; nothing, mostly.
#[derive(Debug, Default)]
pub struct Faults {
    source: Option<Stalling>,
    sink: Option<Stalling>,
    sender: Option<Stalling>,
    fsync: Duration,
    control: Duration,
    rot: Option<u64>,
    /// The place of a byte that is still to flip.
    flip: Mutex<Option<u64>>,
}

/// Something that stands still now and then.
#[derive(Debug)]
struct Stalling {
    stall: Stall,
    /// Bytes until the next pause. Who comes during a pause waits as well, as for one disk.
    left: Mutex<u64>,
}

impl Faults {
    /// These faults; of each kind the last one counts.
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

    /// So many bytes are to be read from the source.
    pub fn before_reading(&self, bytes: usize) {
        self.source.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// So many bytes are to be written.
    pub fn before_writing(&self, bytes: usize) {
        self.sink.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// So many bytes are to be sent.
    pub fn before_sending(&self, bytes: usize) {
        self.sender.iter().for_each(|stalling| stalling.pass(bytes));
    }

    /// How much longer making the file stable takes; none if it is as fast as it can be.
    pub fn fsync(&self) -> Option<Duration> {
        Some(self.fsync).filter(|longer| !longer.is_zero())
    }

    /// The place of a byte of the file that isn't on the medium what was written.
    pub fn rot(&self) -> Option<u64> {
        self.rot
    }

    /// The byte that flips in the memory of the source, once, among the `length` ones from `offset` on:
    /// counted from there.
    pub fn flip(&self, offset: u64, length: usize) -> Option<usize> {
        let mut flip = self.flip.lock().unwrap_or_else(PoisonError::into_inner);
        let byte = flip.and_then(|place| usize::try_from(place.checked_sub(offset)?).ok());
        let byte = byte.filter(|byte| *byte < length)?;
        *flip = None;
        Some(byte)
    }

    /// How late answers to the head's orders come.
    pub fn control(&self) -> Duration {
        self.control
    }
}

impl Stalling {
    fn pass(&self, bytes: usize) {
        let Stall { pause_ns, every, .. } = self.stall;
        let bytes = bytes as u64;
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn pauses_come_before_their_bytes_and_hold_everybody_up() {
        let stall = Stall { pause_ns: 20_000_000, every: 100, first: 0 };
        let faults = Faults::new(&[Injection::SinkDisk(stall)]);
        let began = clock::now_ns();
        std::thread::scope(|scope| {
            scope.spawn(|| faults.before_writing(250));
            faults.before_writing(250);
        });
        let took = clock::now_ns() - began;
        assert!(took >= 100_000_000, "500 bytes are 5 pauses of 20 ms: {took} ns");
        // Other programs may hold it up, but not each time.
        let quick = (0..10).any(|_| {
            let began = clock::now_ns();
            faults.before_reading(1000);
            faults.before_sending(1000);
            clock::now_ns() - began < 20_000_000
        });
        assert!(quick, "nothing else is slow");
    }
}
