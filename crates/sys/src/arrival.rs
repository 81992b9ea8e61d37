//! Counts the bytes of a stream that have arrived, whether read or not. The times of reads alone
//! would mislead: a reader that waited for a CPU sees a burst of bytes that arrived evenly.

use crate::clock;
use crate::socket::TcpStream;

/// A query that takes longer than this, in nanoseconds, is repeated: its time is too uncertain.
const SOON_NS: u64 = 50_000;

/// The maximum number of queries. The answer to the last one is accepted regardless of its
/// duration.
const TRIES: usize = 4;

/// How many bytes of a stream had arrived at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The time of the count, in nanoseconds of the monotonic clock.
    pub at_ns: u64,
    /// The number of bytes that had arrived at `at_ns` since the beginning of the stream.
    pub bytes: u64,
}

/// Returns how much of `stream` has arrived by now: `read`, the number of bytes that the caller has
/// read, plus those in the receive buffer (FIONREAD). If the kernel does not report the buffer, it
/// counts as empty.
#[must_use]
pub fn by_now(stream: &TcpStream, read: u64) -> Arrival {
    let mut arrival = Arrival::default();
    for _ in 0..TRIES {
        let before = clock::now_ns();
        let waiting = rustix::io::ioctl_fionread(stream).unwrap_or(0);
        let at_ns = clock::now_ns();
        arrival = Arrival { at_ns, bytes: read + waiting };
        if at_ns - before <= SOON_NS {
            break;
        }
    }
    arrival
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::socket::pair;

    #[test]
    fn what_waits_to_be_read_has_arrived() {
        let (mut sender, mut receiver) = pair().unwrap();
        assert_eq!(by_now(&receiver, 0).bytes, 0);
        sender.write_all(&[7; 1000]).unwrap();
        let mut bytes = [0; 300];
        receiver.read_exact(&mut bytes).unwrap();
        let before = clock::now_ns();
        let arrival = by_now(&receiver, 300);
        assert_eq!(arrival.bytes, 1000);
        assert!((before..=clock::now_ns()).contains(&arrival.at_ns));
    }
}
