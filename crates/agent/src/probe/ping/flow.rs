//! A stream that one thread writes and reads. While it waits, the thread sleeps or polls. It never
//! waits for space to write while data can be read: if both ends did so they would wait forever.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use garland_sys::event::{self, Interest};
use garland_sys::socket::TcpStream;
use garland_sys::{clock, tcp};

use super::super::SILENCE;
use super::memory::Memory;
use crate::probe::meeting_state::MeetingState;

/// The maximum number of bytes that are read at a time.
const SCRATCH: usize = 256 << 10;

/// The number of polls without data after which the thread yields its CPU, which the other end may
/// need.
const PATIENT_POLLS: u32 = 1000;

/// One side of a round.
pub struct Flow<'a> {
    meeting: &'a MeetingState,
    stream: &'a TcpStream,
    polls: bool,
    /// Whether writes are timed, which requires the time after each wait.
    times: bool,
    memory: Memory,
    scratch: Vec<u8>,
    /// The number of bytes sent so far.
    pub sent: u64,
    pub received: u64,
    /// The number of writes so far.
    pub writes: u64,
    /// The time spent in writes in nanoseconds; 0 if this side is not timed.
    pub writing_ns: u64,
    idle_ns: u64,
    start_ns: u64,
    start_cpu_ns: u64,
}

impl<'a> Flow<'a> {
    /// Creates a side that sends from `memory`. `times` is set for the initiator, which measures
    /// the times.
    pub fn new(
        meeting: &'a MeetingState,
        stream: &'a TcpStream,
        polls: bool,
        memory: Memory,
        times: bool,
    ) -> io::Result<Self> {
        if !polls {
            // A read with a timeout sets and removes a timer each time it sleeps. Instead the
            // kernel closes a connection whose bytes are not acknowledged, and the head ends the
            // meeting when an agent is gone or the time is over.
            tcp::break_unacknowledged(stream, Some(SILENCE))?;
            stream.set_read_timeout(None)?;
        }
        Ok(Self {
            meeting,
            stream,
            polls,
            times,
            memory,
            scratch: vec![0; SCRATCH],
            sent: 0,
            received: 0,
            writes: 0,
            writing_ns: 0,
            idle_ns: 0,
            start_ns: clock::now_ns(),
            start_cpu_ns: clock::thread_cpu_ns(),
        })
    }

    /// Returns the time in monotonic nanoseconds, or 0 if this side is not timed.
    fn time(&self) -> u64 {
        if self.times { clock::now_ns() } else { 0 }
    }

    /// Sends up to byte `until` of the stream without blocking. Returns whether all bytes up to
    /// `until` were sent. `now` is the result of the last `pull`.
    pub fn push(&mut self, until: u64, now: u64) -> io::Result<bool> {
        let before = self.sent;
        while self.sent < until {
            let bytes = self.memory.next(self.sent, until);
            match tcp::try_send(self.stream, bytes)? {
                Some(sent) => self.sent += sent as u64,
                None => break,
            }
            self.writes += 1;
        }
        if self.sent > before {
            self.writing_ns += self.time().saturating_sub(now);
        }
        Ok(self.sent == until)
    }

    /// Waits until data has arrived, the time is `due_ns`, or (only if `room` is set) there may be
    /// space to send. Reads the data, but not beyond byte `limit` of the stream. Returns the time
    /// in monotonic nanoseconds, or 0 if this side is not timed and sleeps.
    pub fn pull(&mut self, limit: u64, room: bool, due_ns: Option<u64>) -> io::Result<u64> {
        let most = usize::try_from(limit - self.received).unwrap_or(SCRATCH).min(SCRATCH);
        if self.polls {
            return self.poll(most, room, due_ns);
        }
        if room || due_ns.is_some() || most == 0 {
            let timeout = due_ns.map_or(SILENCE, clock::until);
            let interest = Interest { fd: self.stream.as_fd(), write: room };
            let ready = event::wait(&[interest], Some(timeout))?;
            if due_ns.is_none() && ready.iter().all(|ready| !ready.read && !ready.write) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.take(most)?;
        } else {
            let read = loop {
                let mut stream = self.stream;
                match stream.read(&mut self.scratch[..most]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    result => break result?,
                }
            };
            self.received += self.some(read)?;
        }
        Ok(self.time())
    }

    fn poll(&mut self, most: usize, room: bool, due_ns: Option<u64>) -> io::Result<u64> {
        let mut idle_since = None;
        for polls in 0_u32.. {
            if self.take(most)? {
                let now = clock::now_ns();
                self.idle_ns += idle_since.map_or(0, |since| now - since);
                return Ok(now);
            }
            let since = *idle_since.get_or_insert_with(clock::now_ns);
            if room || due_ns.is_some() || polls > PATIENT_POLLS {
                let now = clock::now_ns();
                if room || due_ns.is_some_and(|due| now >= due) {
                    self.idle_ns += now - since;
                    return Ok(now);
                }
                if Duration::from_nanos(now - since) > SILENCE || self.meeting.is_over() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                if polls > PATIENT_POLLS {
                    std::thread::yield_now();
                }
            }
            std::hint::spin_loop();
        }
        Ok(clock::now_ns())
    }

    /// Reads up to `most` of the bytes that have arrived. Returns whether there were any.
    fn take(&mut self, most: usize) -> io::Result<bool> {
        if most == 0 {
            return Ok(false);
        }
        let read = tcp::try_receive(self.stream, &mut self.scratch[..most]);
        let Some(read) = read? else { return Ok(false) };
        self.received += self.some(read)?;
        Ok(true)
    }

    fn some(&self, read: usize) -> io::Result<u64> {
        match read {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read as u64),
        }
    }

    /// Returns the time for which this side was at work in nanoseconds: its CPU time or, if it
    /// polls, the elapsed time without the polls that found no data.
    pub fn work_ns(&self) -> u64 {
        match self.polls {
            true => (clock::now_ns() - self.start_ns).saturating_sub(self.idle_ns),
            false => clock::thread_cpu_ns() - self.start_cpu_ns,
        }
    }
}

impl Drop for Flow<'_> {
    fn drop(&mut self) {
        if !self.polls {
            // A broken connection has been reported.
            let _ = self.stream.set_read_timeout(Some(SILENCE));
        }
    }
}
