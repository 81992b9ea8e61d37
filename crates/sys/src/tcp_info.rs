//! The kernel's statistics of a TCP connection: `TCP_INFO`, read by the offsets of `struct
//! tcp_info` in linux/tcp.h. New kernels only append fields to it.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::answers::Answers;
use crate::socket::TcpStream;

/// Statistics of a connection, mostly of its sending direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Whether the other end has closed the connection in order, not by a reset.
    pub peer_closed: bool,
    /// The time during which data waited to be sent or acknowledged.
    pub busy: Duration,
    /// The part of `busy` in which the receiver's window was full, since its reader was slow.
    pub window_limited: Duration,
    /// The part of `busy` in which the size of the send buffer limited the transfer.
    pub buffer_limited: Duration,
    /// Segments with data that were sent, including retransmitted ones.
    pub segments: u32,
    /// Segments that were retransmitted.
    pub retransmits: u32,
    /// The number of consecutive unanswered retransmissions or zero-window probes.
    pub vain: u8,
    /// The time since the last acknowledgement from the other end.
    pub unheard: Duration,
    /// The congestion window in segments.
    pub window: u32,
    /// The smoothed round-trip time.
    pub round_trip: Duration,
    /// The shortest round-trip time of late: without the time in queues.
    pub least_round_trip: Duration,
    /// The payload of a full segment in bytes.
    pub segment_size: u32,
    /// The path MTU to the other end in bytes, as far as it is known.
    pub path_mtu: u32,
    /// Payload bytes that the other end has acknowledged.
    pub acknowledged: u64,
    /// Payload bytes that wait in the send buffer and were never sent.
    pub unsent: u32,
    /// Segments that were sent, and that the other end has not acknowledged.
    pub unacknowledged: u32,
    /// Payload bytes that were received from the other end.
    pub received: u64,
    /// The recent delivery rate in bytes per second.
    pub delivery_rate: u64,
}

/// The states of a connection whose other end has closed it, of net/tcp_states.h: time-wait,
/// close-wait, last-ack, closing.
const PEER_CLOSED: [u8; 4] = [6, 8, 9, 11];

/// The size of `struct tcp_info` in bytes up to and including `tcpi_sndbuf_limited` (Linux 4.10).
const LENGTH: usize = 192;

impl TcpInfo {
    /// Reads the statistics of a TCP connection. An MPTCP connection has none.
    ///
    /// # Errors
    /// When the kernel refuses, or is older than 4.10.
    pub fn read(stream: &TcpStream) -> io::Result<Self> {
        if let Some(Answers { peer_closed, vain, unheard }) = stream.simulated_answers() {
            return Ok(Self { peer_closed, vain, unheard, ..Self::default() });
        }
        let mut bytes = [0_u8; LENGTH];
        let mut length = LENGTH as libc::socklen_t;
        // SAFETY: the descriptor is open for the call's duration (borrowed from `stream`), and the
        // kernel writes at most `length` bytes to `bytes`, which has as many.
        let result = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        if (length as usize) < LENGTH {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self::parse(&bytes))
    }

    fn parse(bytes: &[u8; LENGTH]) -> Self {
        let word = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |at: usize| {
            let low = u64::from(word(at));
            let high = u64::from(word(at + 4));
            if cfg!(target_endian = "big") { low << 32 | high } else { high << 32 | low }
        };
        Self {
            peer_closed: PEER_CLOSED.contains(&bytes[0]),
            segment_size: word(16),
            path_mtu: word(60),
            round_trip: Duration::from_micros(u64::from(word(68))),
            least_round_trip: Duration::from_micros(u64::from(word(148))),
            window: word(80),
            retransmits: word(100),
            vain: bytes[2].max(bytes[3]),
            unheard: Duration::from_millis(u64::from(word(56))),
            acknowledged: long(120),
            received: long(128),
            unsent: word(144),
            unacknowledged: word(24),
            segments: word(156),
            delivery_rate: long(160),
            busy: Duration::from_micros(long(168)),
            window_limited: Duration::from_micros(long(176)),
            buffer_limited: Duration::from_micros(long(184)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::socket::pair;

    #[test]
    fn an_end_in_order_is_told_from_a_reset() {
        let closed = |with_unread: bool| {
            let (mut near, far) = pair().unwrap();
            if with_unread {
                near.write_all(&[1]).unwrap();
                let _ = far.peek(&mut [0]).unwrap();
            }
            drop(far);
            let _ = near.read(&mut [0]);
            TcpInfo::read(&near).unwrap().peer_closed
        };
        // Linux resets a connection that is closed with unread bytes.
        assert_eq!([closed(false), closed(true)], [true, false]);
    }

    #[test]
    fn a_reader_that_sleeps_shows_in_the_senders_account() {
        let (sender, mut receiver) = pair().unwrap();
        let mut writer = sender.try_clone().unwrap();
        let writing = std::thread::spawn(move || writer.write_all(&vec![7; 16 << 20]).unwrap());
        // The reader sleeps until the counters show it; how long that takes depends on the load.
        let shows = |info: &TcpInfo| info.window_limited >= Duration::from_millis(50);
        let mut asleep = (0..6000).map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            TcpInfo::read(&sender).unwrap()
        });
        let info = asleep.find(shows).expect("the counters show it within 30 s");
        assert!(info.unsent > 0, "{info:?}");
        assert!(info.busy >= info.window_limited, "{info:?}");
        let reading = std::thread::spawn(move || {
            io::copy(&mut Read::by_ref(&mut receiver), &mut io::sink()).unwrap()
        });
        writing.join().unwrap();
        let info = TcpInfo::read(&sender).unwrap();
        sender.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(reading.join().unwrap(), 16 << 20);
        assert!(shows(&info), "{info:?}");
        assert!(info.busy >= info.window_limited, "{info:?}");
        assert!(info.acknowledged > 8 << 20 && info.delivery_rate > 0, "{info:?}");
        assert!(info.segments > 100 && info.window > 0, "{info:?}");
        assert!(info.path_mtu > info.segment_size, "{info:?}");
        assert!(info.vain == 0 && info.unheard < Duration::from_secs(60), "{info:?}");
        assert!(info.segment_size > 500 && info.round_trip > Duration::ZERO, "{info:?}");
    }
}
