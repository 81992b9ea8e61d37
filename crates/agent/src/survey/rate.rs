//! Measures the rate of a link: sends a short stream over one NIC, and measures the stream at the
//! receiver, as in a meeting. The stream starts with its duration; the receiver answers with the
//! rate.

use std::io::{self, Read, Write};
use std::net::SocketAddrV4;
use std::time::Duration;

use garland_protocol::measure::{StreamTask, SurveyAnswer};
use garland_sys::clock::after;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, tcp};

use crate::probe::stream::{self, Together};

/// The longest duration of a stream that may be requested, in milliseconds.
const MOST_MILLIS: u32 = 2_000;

/// An unsteady stream is measured for up to this many times its duration.
const UNSETTLED: u32 = 3;

/// The size of a write in bytes.
const WRITE: u32 = 256 << 10;

/// How much longer than its duration a stream may take in total, its answer included.
pub const STREAM_GRACE: Duration = Duration::from_secs(5);

/// Timeout for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the receiver waits for the sender to read the rate.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the task of a stream of `millis` milliseconds, but at least 4 and at most
/// [`MOST_MILLIS`]; the first quarter is TCP's warm-up.
fn stream_task(millis: u32) -> StreamTask {
    let millis = millis.clamp(4, MOST_MILLIS);
    let warm_up_ms = millis / 4;
    let least_ms = millis - millis / 4;
    let most_ms = UNSETTLED * least_ms;
    StreamTask { forward: 1, write: WRITE, packet: None, warm_up_ms, least_ms, most_ms }
}

/// Returns a function to be polled: whether a stream that begins now has taken too long.
fn too_long(task: &StreamTask) -> impl Fn() -> bool {
    let longest = Duration::from_millis(u64::from(task.warm_up_ms + task.most_ms)) + STREAM_GRACE;
    let deadline = after(longest);
    move || clock::now_ns() > deadline
}

/// Sends over one NIC until the receiver has measured the stream. Returns the receiver's answer,
/// the rate.
pub fn send(nic: &str, to: SocketAddrV4, millis: u32) -> io::Result<SurveyAnswer> {
    let mut stream = tcp::connect_by(nic, to.into(), CONNECT_TIMEOUT)?;
    // Measure the link, not BBR's model of it.
    tcp::choose_congestion(&stream, &tcp::PREFERRED)?;
    stream.write_all(&millis.to_le_bytes())?;
    let task = stream_task(millis);
    stream::send(&task, &stream, &too_long(&task))?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(STREAM_GRACE))?;
    let mut rate = [0; 8];
    stream.read_exact(&mut rate)?;
    Ok(SurveyAnswer::Rate(f64::from_le_bytes(rate)))
}

/// Measures a connection for the number of milliseconds that its first 4 bytes contain, answers
/// with the rate in bits per second, and waits for the sender to close.
pub fn receive(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(STREAM_GRACE))?;
    let mut millis = [0; 4];
    stream.read_exact(&mut millis)?;
    let task = stream_task(u32::from_le_bytes(millis));
    let came = stream::receive(&task, &stream, &Together::new(1), &too_long(&task))?;
    let rate = came.bytes as f64 * 8e9 / came.elapsed_ns.max(1) as f64;
    stream.write_all(&rate.to_le_bytes())?;
    // Closing a connection with unread bytes would discard the rate.
    let deadline = after(READ_TIMEOUT);
    let mut rest = vec![0; WRITE as usize];
    while clock::now_ns() < deadline && stream.read(&mut rest)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_stream_is_measured_where_it_arrives() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("it has one").port();
        let receiver = std::thread::spawn(move || receive(listener.accept()?.0.into()));
        let answer = send("lo", SocketAddrV4::new(Ipv4Addr::LOCALHOST, port), 40);
        let Ok(SurveyAnswer::Rate(rate)) = answer else { panic!("{answer:?}") };
        assert!(rate.is_finite() && rate > 1e6, "{rate} bit/s");
        // The sender is gone, with a reset if bytes were in transit.
        let _ = receiver.join().expect("no panic");
    }

    #[test]
    fn a_requested_duration_is_bounded() {
        assert_eq!(
            stream_task(400),
            StreamTask { warm_up_ms: 100, least_ms: 300, most_ms: 900, ..stream_task(4) }
        );
        assert_eq!(stream_task(0), stream_task(4));
        assert_eq!(stream_task(u32::MAX), stream_task(MOST_MILLIS));
    }
}
