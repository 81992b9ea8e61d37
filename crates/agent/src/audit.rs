//! What the agent tells the system's log of its node: sessions, commands, copies, jobs, and
//! connections that it refused. docs/security-review.md describes each line.

mod allowance;
mod caller;
mod line;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use garland_protocol::Role;
use garland_protocol::wire::PublicKey;
use garland_sys::clock;
use garland_sys::sync::Mutex;
use garland_sys::syslog::Syslog;

use self::allowance::Allowance;
pub use self::caller::Caller;
use self::line::{Facility, Line, Severity};

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
    /// `None` if nothing is logged.
    log: Option<Syslog>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of lines that the log did not take since the last one that it took.
    lost: u64,
    /// For refused connections of all peers: what a stranger is called costs him nothing.
    refusals: Allowance,
    /// For the sessions of each peer that is no controller and came within the last minute, or had
    /// too many: one that comes ten times a second neither fills the log nor hides others.
    sessions: BTreeMap<PublicKey, Allowance>,
}

impl State {
    /// Counts a session. Returns the number of sessions of its peer that were not logged before it;
    /// `None` if this one must not be logged either.
    fn admit(&mut self, caller: &Caller, now_ns: u64) -> Option<u64> {
        if !self.sessions.contains_key(&caller.key) {
            self.sessions.retain(|_, allowance| !allowance.is_whole(now_ns));
        }
        self.sessions.entry(caller.key).or_default().take(now_ns)
    }
}

impl Audit {
    /// Creates the agent's lines, which go to `log`, or nowhere.
    pub fn new(log: Option<Syslog>) -> Self {
        Self { log, state: Mutex::default() }
    }

    /// Logs the start of a session, unless its peer is no controller and has had too many.
    pub fn session(&self, caller: &Caller) {
        let untold = match caller.role {
            Role::Controller => Some(0),
            Role::Member | Role::FarmNode => self.state.lock().admit(caller, clock::now_ns()),
        };
        let Some(untold) = untold else { return };
        self.tell(Facility::Auth, Line::new("session").caller(caller).untold(untold));
    }

    /// Logs that `caller` runs a program. Its arguments are only counted: they may have secrets.
    pub fn exec(&self, caller: &Caller, program: &[u8], arguments: usize) {
        let line = Line::new("exec").caller(caller).text("program", program);
        self.tell(Facility::Daemon, line.number("arguments", arguments as u64));
    }

    /// Logs the end of a copy: its path on this node, the `bytes` of it that this node has, and the
    /// verdict.
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

    /// Logs the number of jobs that a farm gave to this node.
    pub fn farm(&self, caller: &Caller, jobs: u64) {
        self.tell(Facility::Daemon, Line::new("farm").caller(caller).number("jobs", jobs));
    }

    /// Logs a refused connection, unless too many were logged.
    pub fn refused(&self, peer: SocketAddr, reason: &str) {
        let untold = self.state.lock().refusals.take(clock::now_ns());
        let Some(untold) = untold else { return };
        let line = Line::new("refused").severity(Severity::Warning).peer(peer);
        self.tell(Facility::Auth, line.text("reason", reason.as_bytes()).untold(untold));
    }

    /// Sends a line to the log, and before it the number of lines that were lost.
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
