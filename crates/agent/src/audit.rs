//! What the agent tells the system's log of its node: sessions, commands, copies, jobs, and
//! connections that it refused. docs/security-review.md describes each line.

mod caller;
mod line;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use garland_sys::clock;
use garland_sys::sync::Mutex;
use garland_sys::syslog::Syslog;

pub use self::caller::Caller;
use self::line::{Facility, Line, Severity};

/// The number of refused connections that are told at once; further ones are told one by one, at
/// most one in [`PAUSE`].
const MAX_BURST: u32 = 20;

/// The interval at which another refused connection may be told.
const PAUSE: Duration = Duration::from_secs(3);

/// The direction of a copy, as the node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To this node.
    In,
    /// From this node.
    Out,
}

/// The agent's lines in the system's log.
pub struct Audit {
    /// `None` if nothing is told.
    log: Option<Syslog>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of lines that the log did not take since the last one that it took.
    lost: u64,
    refusals: Refusals,
}

/// Limits the lines about refused connections.
struct Refusals {
    /// How many may be told now.
    allowed: u32,
    /// The time at which `allowed` was last raised, in monotonic nanoseconds.
    raised_ns: u64,
    /// The number of those that were not told since the last one that was.
    untold: u64,
}

impl Default for Refusals {
    fn default() -> Self {
        Self { allowed: MAX_BURST, raised_ns: 0, untold: 0 }
    }
}

impl Refusals {
    /// Counts a refused connection. Returns how many were not told before it, if it may be told.
    fn take(&mut self, now_ns: u64) -> Option<u64> {
        let pause_ns = PAUSE.as_nanos() as u64;
        let more = now_ns.saturating_sub(self.raised_ns) / pause_ns;
        if more > 0 {
            self.raised_ns = now_ns;
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            self.allowed = self.allowed.saturating_add(more).min(MAX_BURST);
        }
        match self.allowed.checked_sub(1) {
            Some(left) => {
                self.allowed = left;
                Some(std::mem::take(&mut self.untold))
            }
            None => {
                self.untold += 1;
                None
            }
        }
    }
}

impl Audit {
    /// Creates the agent's lines, which go to `log`, or nowhere.
    pub fn new(log: Option<Syslog>) -> Self {
        Self { log, state: Mutex::default() }
    }

    /// Tells that a session began.
    pub fn session(&self, caller: &Caller) {
        self.tell(Facility::Auth, Line::new("session").caller(caller));
    }

    /// Tells that `caller` runs a program. Its arguments are only counted: they may have secrets.
    pub fn exec(&self, caller: &Caller, program: &[u8], arguments: usize) {
        let line = Line::new("exec").caller(caller).text("program", program);
        self.tell(Facility::Daemon, line.number("arguments", arguments as u64));
    }

    /// Tells how a copy ended: the bytes that this node has of it, and the verdict.
    pub fn copy(
        &self,
        caller: &Caller,
        direction: Direction,
        path: &[u8],
        bytes: u64,
        verdict: &str,
    ) {
        let word = if direction == Direction::In { "in" } else { "out" };
        let line = Line::new("copy").caller(caller).word("direction", word).text("path", path);
        let line = line.number("bytes", bytes).text("verdict", verdict.as_bytes());
        self.tell(Facility::Daemon, line);
    }

    /// Tells how many jobs a farm gave to this node.
    pub fn farm(&self, caller: &Caller, jobs: u64) {
        self.tell(Facility::Daemon, Line::new("farm").caller(caller).number("jobs", jobs));
    }

    /// Tells that a connection was refused, unless too many were told.
    pub fn refused(&self, peer: SocketAddr, reason: &str) {
        let untold = self.state.lock().refusals.take(clock::now_ns());
        let Some(untold) = untold else { return };
        let mut line = Line::new("refused").severity(Severity::Warning).peer(peer);
        line = line.text("reason", reason.as_bytes());
        if untold > 0 {
            line = line.number("untold", untold);
        }
        self.tell(Facility::Auth, line);
    }

    /// Sends a line, and before it how many were lost.
    fn tell(&self, facility: Facility, line: Line) {
        let Some(log) = &self.log else { return };
        let mut state = self.state.lock();
        let send = |line: Line, facility| -> io::Result<()> { log.send(&line.to_bytes(facility)) };
        if state.lost > 0 {
            let lost = Line::new("lost").severity(Severity::Warning).number("lines", state.lost);
            if send(lost, Facility::Daemon).is_ok() {
                state.lost = 0;
            }
        }
        if send(line, facility).is_err() {
            state.lost += 1;
        }
    }
}

#[cfg(test)]
mod tests;
