//! Measures streams. Each connection has a thread, which sends, or receives and measures.

mod counter;
mod together;

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::measure::{Finding, RxStats, StreamTask, TxStats};
use garland_sys::event::{self, Interest};
use garland_sys::socket::TcpStream;
use garland_sys::tcp_info::TcpInfo;
use garland_sys::{arrival, clock, random, tcp, threads};

use super::SILENCE;
use crate::error::cannot;
use crate::probe::error::ProbeError;
use crate::probe::meeting_state::MeetingState;
use counter::Counter;
pub use together::Together;

/// The byte that a receiver sends when it has measured enough.
const MEASURED_ENOUGH: u8 = b'.';

/// The number of bytes that are read at a time.
const READ: usize = 256 << 10;

/// How long a receiver waits until the sender's kernel has the word that it has measured enough:
/// the time of some retransmissions.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(3);

/// The interval in nanoseconds at which a non-blocking sender checks for the end.
const POLL_NS: u64 = 1_000_000;

/// Sends or receives all streams of a meeting, and reports the measurements of each. `dials` is set
/// at the agent that opened the connections, which sends the first `task.forward` of them.
pub fn take_part(
    meeting: &MeetingState,
    task: &StreamTask,
    dials: bool,
    streams: &[TcpStream],
) -> Result<(), ProbeError> {
    let is_over = || meeting.is_over();
    let sends = |number: u16| (number < task.forward) == dials;
    let received = (0..).zip(streams).filter(|(number, _)| !sends(*number)).count();
    let together = Together::new(received);
    let one = |(number, stream): (u16, &TcpStream)| {
        if sends(number) {
            send(task, stream, &is_over).map(|info| Finding::TxStats(tx_stats(number, &info)))
        } else {
            receive(task, stream, &together, &is_over)
                .map(|count| Finding::RxStats(RxStats { number, ..count }))
        }
    };
    let results: Vec<io::Result<Finding>> = std::thread::scope(|scope| {
        let numbered = (0..).zip(streams);
        let start = |stream| threads::spawn_in(scope, "stream", move || one(stream));
        let begun: Vec<_> = numbered.map(start).collect();
        if begun.iter().any(Result::is_err) {
            together.break_off();
        }
        let join = |thread: io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
            thread?.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        };
        begun.into_iter().map(join).collect()
    });
    for result in results {
        meeting.found(result.map_err(cannot("measure a stream"))?);
    }
    Ok(())
}

/// Converts the statistics of the connection `number` for the report.
pub fn tx_stats(number: u16, info: &TcpInfo) -> TxStats {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    TxStats {
        number,
        busy_us: micros(info.busy),
        window_limited_us: micros(info.window_limited),
        buffer_limited_us: micros(info.buffer_limited),
        segments: info.segments,
        retransmits: info.retransmits,
        window: info.window,
        round_trip_us: u32::try_from(info.round_trip.as_micros()).unwrap_or(u32::MAX),
        segment_size: info.segment_size,
    }
}

/// Sends until the receiver has enough. Returns the connection's statistics. Makes the connection
/// non-blocking; data that is unsent when it is closed is dropped.
///
/// # Errors
/// When the stream breaks, accepts no bytes for [`SILENCE`], or `is_over` returns true.
pub fn send(
    task: &StreamTask,
    mut stream: &TcpStream,
    is_over: &dyn Fn() -> bool,
) -> io::Result<TcpInfo> {
    // As the links of copies: BBR, the default of some machines, does not mind losses that slow
    // copies down.
    let _ = tcp::choose_congestion(stream, &tcp::PREFERRED);
    // Bytes that no link can compress.
    let length = task.write as usize;
    let mut noise = random::bytes::<4096>().repeat(length.div_ceil(4096));
    noise.truncate(length);
    stream.set_nonblocking(true)?;
    tcp::reset_on_close(stream)?;
    let mut heard_ns = clock::now_ns();
    let mut sent = 0;
    let mut poll_ns = 0;
    loop {
        let now = clock::now_ns();
        if now >= poll_ns {
            if has_enough(stream)? {
                return Ok(account(stream));
            }
            if Duration::from_nanos(now - heard_ns) > SILENCE || is_over() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            poll_ns = now + POLL_NS;
        }
        match stream.write(&noise[sent..]) {
            Ok(written) => {
                sent = (sent + written) % noise.len();
                heard_ns = now;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let interest = [Interest { fd: stream.as_fd(), write: true }];
                let ready = event::wait(&interest, Some(Duration::from_millis(100)))?;
                if ready.iter().any(|ready| ready.read || !ready.write) {
                    poll_ns = 0;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The receiver has sent `MEASURED_ENOUGH` and closed the connection.
            Err(_) if has_enough(stream)? => return Ok(account(stream)),
            Err(error) => return Err(error),
        }
    }
}

/// Returns the statistics of a connection; all zero over MPTCP, where they are unknown. The rates
/// do not depend on them.
fn account(stream: &TcpStream) -> TcpInfo {
    TcpInfo::read(stream).unwrap_or_default()
}

fn has_enough(mut stream: &TcpStream) -> io::Result<bool> {
    let mut word = [0];
    match stream.read(&mut word) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(word == [MEASURED_ENOUGH]),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Receives until the rates of all streams are known, and returns the measurement of this one, with
/// 0 in place of the stream's number.
///
/// # Errors
/// When this stream or another one breaks, when this one is silent until the socket's timeout, or
/// when `is_over` returns true.
pub fn receive(
    task: &StreamTask,
    stream: &TcpStream,
    together: &Together,
    is_over: &dyn Fn() -> bool,
) -> io::Result<RxStats> {
    let received = count(task, stream, together, is_over);
    if received.is_err() {
        together.break_off();
    }
    received
}

fn count(
    task: &StreamTask,
    mut stream: &TcpStream,
    together: &Together,
    is_over: &dyn Fn() -> bool,
) -> io::Result<RxStats> {
    let mut buffer = vec![0; READ];
    let mut bytes = 0;
    let mut counter = None;
    let mut count = None;
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        bytes += read as u64;
        let arrived = arrival::by_now(stream, bytes);
        if bytes == read as u64 {
            together.begin(arrived.at_ns);
        }
        if counter.is_none() {
            counter = together.began().map(|began| Counter::new(task, began));
        }
        if count.is_none() {
            count = counter.as_mut().and_then(|counter| counter.note(arrived.at_ns, arrived.bytes));
            if count.is_some() {
                together.count();
            }
        }
        if let Some(count) = &count
            && (together.is_counted() || together.is_broken())
        {
            say_enough(stream, &mut buffer, is_over);
            return Ok(*count);
        }
        if is_over() || together.is_broken() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Tells the sender that it has been measured, and waits until its kernel has the word. Closing a
/// connection with bytes that nobody has read resets it: if the word was lost on the way, it would
/// not be sent again, and the sender would fail.
fn say_enough(mut stream: &TcpStream, buffer: &mut [u8], is_over: &dyn Fn() -> bool) {
    // An error means that the sender is gone, which no longer matters.
    let mut is_there = stream.write_all(&[MEASURED_ENOUGH]).is_ok();
    let deadline_ns = clock::after(DELIVERY_TIMEOUT);
    while is_there && !is_delivered(stream) && !is_over() && clock::now_ns() < deadline_ns {
        // The sender goes on until it has the word.
        let ready = event::wait_readable(&[stream.as_fd()], Some(Duration::from_nanos(POLL_NS)));
        is_there = match ready.as_deref() {
            Ok([true]) => match stream.read(buffer) {
                Ok(read) => read > 0,
                Err(error) => error.kind() == io::ErrorKind::Interrupted,
            },
            Ok(_) => true,
            Err(_) => false,
        };
    }
}

/// Returns whether the other end has acknowledged all that was sent; true over MPTCP, where that is
/// unknown.
fn is_delivered(stream: &TcpStream) -> bool {
    TcpInfo::read(stream).map_or(true, |info| info.unacknowledged == 0 && info.unsent == 0)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use garland_sys::mptcp::Transport;
    use garland_sys::threads;

    use super::*;

    const TASK: StreamTask = StreamTask {
        forward: 1,
        write: 64 << 10,
        packet: None,
        warm_up_ms: 20,
        least_ms: 100,
        most_ms: 300,
    };

    #[test]
    fn a_sender_learns_that_it_was_measured_although_the_word_is_lost_on_the_way() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let sender = tcp::connect(to, SILENCE, Transport::Tcp).unwrap();
        let receiver = TcpStream::from(listener.accept().unwrap().0);
        let filtered = sender.try_clone().unwrap();
        let sent = std::thread::spawn(move || send(&TASK, &sender, &|| false).map(drop));
        let mut buffer = vec![0; READ];
        assert!((&receiver).read(&mut buffer).unwrap() > 0);
        lose_all(&filtered, true);
        let later = std::thread::spawn(move || {
            // When the word was lost. If it was not sent yet, it arrives, and all is well anyway.
            threads::sleep(Duration::from_millis(30));
            lose_all(&filtered, false);
        });
        say_enough(&receiver, &mut buffer, &|| false);
        drop(receiver);
        later.join().unwrap();
        assert_eq!(sent.join().unwrap().map_err(|error| error.to_string()), Ok(()));
    }

    /// Makes the kernel drop what arrives at a socket, as if it were lost on the way, or no longer.
    fn lose_all(stream: &TcpStream, drops: bool) {
        let socket = socket2::SockRef::from(&**stream);
        // A program that accepts no byte of any packet.
        let accepts_nothing = socket2::SockFilter::new(6, 0, 0, 0);
        match drops {
            true => socket.attach_filter(&[accepts_nothing]).unwrap(),
            false => socket.detach_filter().unwrap(),
        }
    }
}
