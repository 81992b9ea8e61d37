//! Streams: one thread a connection sends, or receives and measures.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_core::proto::{Finding, StreamCame, StreamTask, StreamWent};
use garland_sys::event::{self, Interest};
use garland_sys::tcp_info::TcpInfo;
use garland_sys::{clock, random, tcp};

use super::SILENCE;
use super::runner::Place;
use super::together::Together;
use crate::store::reason;

/// What a receiver says when it has counted enough.
const ENOUGH: u8 = b'.';

/// How much is read at a time.
const READ: usize = 256 << 10;

/// How often a sender that has room looks for what else there is to know.
const LOOK_NS: u64 = 1_000_000;

/// How often a receiver notes how far it is.
const TICK_NS: u64 = 5_000_000;

/// The most that two halves may differ, as a share of their mean.
const STEADY: f64 = 0.02;

/// Takes part in a meeting's streams, to its end.
pub fn take_part(
    place: &Place,
    task: &StreamTask,
    dials: bool,
    streams: &[TcpStream],
) -> Result<(), String> {
    let sends = |number: u16| (number < task.forward) == dials;
    let received = (0..).zip(streams).filter(|(number, _)| !sends(*number)).count();
    let together = Together::new(received);
    let one = |(number, stream): (u16, &TcpStream)| {
        if sends(number) {
            send(place, task, stream).map(|info| Finding::StreamWent(went(number, &info)))
        } else {
            let received = receive(place, task, &together, stream);
            if received.is_err() {
                together.break_off();
            }
            received.map(|count| Finding::StreamCame(StreamCame { number, ..count }))
        }
    };
    let results: Vec<io::Result<Finding>> = std::thread::scope(|scope| {
        let numbered = (0..).zip(streams);
        let threads: Vec<_> = numbered.map(|stream| scope.spawn(move || one(stream))).collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|end| end.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))).collect()
    });
    for result in results {
        place.found(result.map_err(|error| format!("its stream broke: {}", reason(&error)))?);
    }
    Ok(())
}

/// A connection's account as it is told.
pub fn went(number: u16, info: &TcpInfo) -> StreamWent {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    StreamWent {
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

/// Sends until the receiver has enough. What is under way then is dropped with the connection.
fn send(place: &Place, task: &StreamTask, mut stream: &TcpStream) -> io::Result<TcpInfo> {
    // Bytes that no link compresses.
    let length = task.write as usize;
    let mut bytes = random::bytes::<4096>().repeat(length.div_ceil(4096));
    bytes.truncate(length);
    stream.set_nonblocking(true)?;
    tcp::reset_on_close(stream)?;
    let mut heard_ns = clock::now_ns();
    let (mut sent, mut look_ns) = (0, 0);
    loop {
        let now = clock::now_ns();
        if now >= look_ns {
            if has_enough(stream)? {
                return Ok(account(stream));
            }
            if now - heard_ns > nanos(SILENCE) || place.is_over() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            look_ns = now + LOOK_NS;
        }
        match stream.write(&bytes[sent..]) {
            Ok(written) => {
                sent = (sent + written) % bytes.len();
                heard_ns = now;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let interest = [Interest { fd: stream.as_fd(), write: true }];
                let ready = event::wait(&interest, Some(Duration::from_millis(100)))?;
                if ready.iter().any(|ready| ready.read || !ready.write) {
                    look_ns = 0;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The receiver said so and was gone before it was heard.
            Err(_) if has_enough(stream)? => return Ok(account(stream)),
            Err(error) => return Err(error),
        }
    }
}

/// By MPTCP there is none; the rates stand by themselves.
fn account(stream: &TcpStream) -> TcpInfo {
    TcpInfo::of(stream).unwrap_or_default()
}

fn has_enough(mut stream: &TcpStream) -> io::Result<bool> {
    let mut word = [0];
    match stream.read(&mut word) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(word == [ENOUGH]),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Receives until the rate of all streams is known, and measures this one's. The number of its
/// connection isn't its business.
fn receive(
    place: &Place,
    task: &StreamTask,
    together: &Together,
    mut stream: &TcpStream,
) -> io::Result<StreamCame> {
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
        let now = clock::now_ns();
        if bytes == 0 {
            together.begin(now);
        }
        bytes += read as u64;
        if counter.is_none() {
            counter = together.began().map(|began| Counter::new(task, began));
        }
        if count.is_none() {
            let due = counter.as_mut().filter(|counter| counter.is_due(now));
            // What has come in and wasn't read yet has come in, too.
            count = match due {
                Some(counter) => counter.note(now, bytes + tcp::unread(stream)?),
                None => None,
            };
            if count.is_some() {
                together.count();
            }
        }
        if let Some(count) = &count
            && (together.is_counted() || together.is_broken())
        {
            // A sender that is gone by now has said all that it had to.
            let _ = stream.write_all(&[ENOUGH]);
            return Ok(*count);
        }
        if place.is_over() || together.is_broken() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Counts a stream's bytes, and knows when it is enough.
struct Counter {
    from_ns: u64,
    least_ns: u64,
    most_ns: u64,
    /// When how many bytes had come in, at times a tick apart; the first is where counting begins.
    ticks: Vec<(u64, u64)>,
}

impl Counter {
    fn new(task: &StreamTask, now: u64) -> Self {
        let ns = |ms: u32| u64::from(ms) * 1_000_000;
        Self {
            from_ns: now + ns(task.warm_up_ms),
            least_ns: ns(task.least_ms),
            most_ns: ns(task.most_ms),
            ticks: Vec::new(),
        }
    }

    /// Whether it wants to know how many bytes have come in.
    fn is_due(&self, now: u64) -> bool {
        let enough = |&(began, _): &(u64, u64)| now - began >= self.most_ns;
        match self.ticks.last() {
            None => now >= self.from_ns,
            Some(&(last, _)) => now - last >= TICK_NS || self.ticks.first().is_some_and(enough),
        }
    }

    /// So many bytes have come in by now; the count, if that is enough.
    fn note(&mut self, now: u64, bytes: u64) -> Option<StreamCame> {
        let Some(&(began, before)) = self.ticks.first() else {
            self.ticks.push((now, bytes));
            return None;
        };
        let elapsed_ns = now - began;
        self.ticks.push((now, bytes));
        let steady = self.is_steady();
        let enough = elapsed_ns >= self.most_ns || (elapsed_ns >= self.least_ns && steady);
        enough.then_some(StreamCame { number: 0, bytes: bytes - before, elapsed_ns, steady })
    }

    /// Whether both halves of the time so far had the same rate.
    fn is_steady(&self) -> bool {
        let (Some(&first), Some(&last)) = (self.ticks.first(), self.ticks.last()) else {
            return false;
        };
        let middle_ns = u64::midpoint(first.0, last.0);
        let at = self.ticks.partition_point(|tick| tick.0 < middle_ns);
        let Some(&middle) = self.ticks.get(at) else { return false };
        let rate = |a: (u64, u64), b: (u64, u64)| (b.1 - a.1) as f64 / (b.0 - a.0).max(1) as f64;
        let (one, other) = (rate(first, middle), rate(middle, last));
        (one - other).abs() <= STEADY * f64::midpoint(one, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: StreamTask = StreamTask {
        forward: 1,
        write: 1,
        packet: None,
        warm_up_ms: 20,
        least_ms: 100,
        most_ms: 300,
    };

    /// Counts a stream that has `rate(ms)` bytes in every millisecond.
    fn counted(rate: impl Fn(u64) -> u64) -> StreamCame {
        let mut counter = Counter::new(&TASK, 0);
        let mut bytes = 0;
        for ms in 0.. {
            bytes += rate(ms);
            let now = ms * 1_000_000;
            if counter.is_due(now)
                && let Some(count) = counter.note(now, bytes)
            {
                return count;
            }
        }
        unreachable!("it counts for 300 ms at most");
    }

    #[test]
    fn a_steady_stream_is_counted_briefly_and_its_start_not_at_all() {
        let count = counted(|ms| if ms <= 20 { 1 } else { 1000 });
        assert_eq!(
            count,
            StreamCame { number: 0, bytes: 100_000, elapsed_ns: 100_000_000, steady: true }
        );
    }

    #[test]
    fn a_stream_that_never_settles_is_counted_to_the_end() {
        let count = counted(|ms| ms * ms);
        assert!(!count.steady);
        assert_eq!(count.elapsed_ns, 300_000_000);
    }

    #[test]
    fn a_stream_that_settles_late_is_counted_until_then() {
        let count = counted(|ms| if ms < 30 { 800 } else { 1000 });
        assert!(count.steady);
        assert!((105_000_000..300_000_000).contains(&count.elapsed_ns), "{count:?}");
    }
}
