//! How much of a stream has arrived, which is more than what was read of it when the reader lacked a
//! processor: the times of its reads would show a burst where the bytes arrived in time.

use std::net::TcpStream;

use crate::clock;

/// The kernel's answer is of a known moment when it comes as soon as this.
const SOON_NS: u64 = 50_000;

/// The number of retries before any time is accepted.
const TRIES: usize = 4;

/// The bytes that have arrived at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// When, in monotonic nanoseconds.
    pub at_ns: u64,
    /// Bytes, from the stream's first.
    pub bytes: u64,
}

/// What of `stream` has arrived by now, when so many bytes of it were read (FIONREAD). Where the
/// kernel doesn't say it is what was read.
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
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_waits_to_be_read_has_arrived() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
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
