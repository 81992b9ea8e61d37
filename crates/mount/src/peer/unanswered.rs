//! The requests to an agent that are not answered yet, and for how long the agent has executed
//! each. Heartbeats show that an agent lives, not that it answers: its disk may hang, or it may be
//! hostile. Nothing here blocks or sends.

use std::collections::BTreeMap;
use std::time::Duration;

use garland_core::trace::Stage;
use garland_protocol::AskKind;
use garland_protocol::files::{Ask, FILES_LINKS};
use garland_sys::clock;

use super::reply::Then;
use crate::recording;

/// The maximum time for which an agent executes a request that reads, while no write is unanswered.
/// Disks repeat what fails for a minute, and an agent may serve the mounts of a thousand nodes.
const READ_MAX: Duration = Duration::from_secs(120);

/// The maximum time for which an agent executes any request. A sync takes as long as the disk needs
/// for all that was written before, and what is asked meanwhile may wait for it.
const WRITE_MAX: Duration = Duration::from_secs(600);

/// A request that is not answered yet.
pub struct Pending {
    /// What is called with the reply; `None` if the request was given up.
    pub then: Option<Then>,
    /// The stage of the request's span.
    pub stage: Stage,
    /// When the request was made, in nanoseconds of the monotonic clock.
    pub asked_ns: u64,
    /// The length of the request's payload in bytes.
    pub bytes: u64,
    link: u16,
    limit: Limit,
    /// For how long the agent executes the request; `None` if it may not have begun.
    executed: Option<Duration>,
}

/// How long the agent may execute a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// [`READ_MAX`] while no write is unanswered.
    Read,
    /// [`WRITE_MAX`].
    Write,
    /// Whoever asks for a block has a limit of its own.
    Own,
}

impl Limit {
    fn from_ask(ask: &Ask) -> Self {
        match ask.kind() {
            // It changes nothing, but the disk writes.
            AskKind::Look if matches!(ask, Ask::SyncFolder(_)) => Self::Write,
            AskKind::Look | AskKind::Read => Self::Read,
            AskKind::Write | AskKind::Reserve => Self::Write,
            AskKind::Block => Self::Own,
        }
    }
}

impl Pending {
    /// Creates a request that is made now on the connection `link`, with `bytes` bytes of payload.
    pub fn new(ask: &Ask, link: u16, bytes: u64, then: Then) -> Self {
        Self {
            then: Some(then),
            stage: recording::stage(ask),
            asked_ns: clock::now_ns(),
            bytes,
            link,
            limit: Limit::from_ask(ask),
            executed: None,
        }
    }
}

/// What an agent should have answered by now.
pub enum Late {
    /// These requests, which are given up. The agent has answered others meanwhile.
    Alone(Vec<Then>),
    /// A request that cannot be given up alone, or all of a connection, for this time.
    All(Duration),
}

/// The requests to an agent that are not answered yet.
#[derive(Default)]
pub struct Unanswered {
    /// By number. An agent begins with the requests of one connection in this order.
    requests: BTreeMap<u64, Pending>,
    links: [Progress; FILES_LINKS as usize],
    /// The time since a write was unanswered.
    calm: Duration,
}

/// What is known of the requests on one connection.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// The highest number of a request that was answered.
    answered: u64,
    /// The time since the last answer.
    quiet: Duration,
}

impl Unanswered {
    /// Adds a request.
    pub fn insert(&mut self, number: u64, pending: Pending) {
        self.requests.insert(number, pending);
    }

    /// Removes the request with this number, which was answered; `None` if there is none.
    pub fn remove(&mut self, number: u64) -> Option<Pending> {
        let pending = self.requests.remove(&number)?;
        let progress = &mut self.links[usize::from(pending.link)];
        progress.answered = progress.answered.max(number);
        progress.quiet = Duration::ZERO;
        Some(pending)
    }

    /// Returns all requests.
    pub fn into_requests(self) -> impl Iterator<Item = Pending> {
        self.requests.into_values()
    }

    /// Notes that the time `passed` has passed, and returns which requests are late by now.
    ///
    /// A request counts from when the agent has surely begun to execute it, so that many requests
    /// may wait for a slow disk: when it is the oldest of its connection, or a younger one was
    /// answered.
    pub fn pass(&mut self, passed: Duration) -> Late {
        let is_write = |pending: &Pending| pending.limit == Limit::Write;
        let is_calm = !self.requests.values().any(is_write);
        self.calm = if is_calm { self.calm.saturating_add(passed) } else { Duration::ZERO };
        for link in &mut self.links {
            link.quiet = link.quiet.saturating_add(passed);
        }
        let mut has_older = [false; FILES_LINKS as usize];
        let mut late = Vec::new();
        for (number, pending) in &mut self.requests {
            if pending.then.is_none() || pending.limit == Limit::Own {
                continue;
            }
            let link = usize::from(pending.link);
            let progress = self.links[link];
            let is_oldest = !std::mem::replace(&mut has_older[link], true);
            if !is_oldest && *number > progress.answered {
                continue;
            }
            // The first time may have passed before the request was made.
            let executed = pending.executed.map_or(Duration::ZERO, |before| before + passed);
            pending.executed = Some(executed);
            if executed.min(self.calm) < READ_MAX && executed < WRITE_MAX {
                continue;
            }
            // A write that is executed later would replace what was written meanwhile.
            if is_write(pending) || progress.quiet >= executed {
                return Late::All(executed);
            }
            late.push(*number);
        }
        let given_up = |number| self.requests.get_mut(number).and_then(|late| late.then.take());
        Late::Alone(late.iter().filter_map(given_up).collect())
    }
}

#[cfg(test)]
mod tests {
    use garland_protocol::files::{BULK_LINK, FileRef, PIECE};

    use super::*;

    /// The time between two looks at what is late.
    const STEP: Duration = Duration::from_millis(250);

    fn stat() -> Pending {
        Pending::new(&Ask::Stat(FileRef::Open(1)), 0, 0, Box::new(|_| ()))
    }

    fn read() -> Pending {
        Pending::new(&Ask::Read(1, 0, PIECE), BULK_LINK, 0, Box::new(|_| ()))
    }

    fn sync() -> Pending {
        Pending::new(&Ask::Sync(1, false), 0, 0, Box::new(|_| ()))
    }

    /// Lets `time` pass. Returns how many requests were given up; an error if all were late.
    fn wait(unanswered: &mut Unanswered, time: Duration) -> Result<usize, Duration> {
        let mut given_up = 0;
        for _ in 0..time.as_millis() / STEP.as_millis() {
            match unanswered.pass(STEP) {
                Late::Alone(some) => given_up += some.len(),
                Late::All(executed) => return Err(executed),
            }
        }
        Ok(given_up)
    }

    #[test]
    fn a_slow_disk_that_answers_one_request_after_the_other_is_never_late() {
        let mut unanswered = Unanswered::default();
        (1..=64).for_each(|number| unanswered.insert(number, read()));
        for number in 1..=64 {
            assert_eq!(wait(&mut unanswered, READ_MAX), Ok(0), "request {number}");
            assert!(unanswered.remove(number).is_some());
        }
    }

    #[test]
    fn a_connection_on_which_nothing_is_answered_is_late_whatever_the_other_one_does() {
        let mut unanswered = Unanswered::default();
        (1..=3).for_each(|number| unanswered.insert(number, read()));
        for number in 4..=10 {
            unanswered.insert(number, stat());
            assert_eq!(wait(&mut unanswered, READ_MAX / 8), Ok(0));
            assert!(unanswered.remove(number).is_some());
        }
        assert_eq!(wait(&mut unanswered, READ_MAX / 4), Err(READ_MAX));
    }

    #[test]
    fn a_request_that_others_overtake_is_given_up_alone() {
        let mut unanswered = Unanswered::default();
        unanswered.insert(1, stat());
        let mut given_up = 0;
        for number in 2..20 {
            unanswered.insert(number, stat());
            given_up += wait(&mut unanswered, READ_MAX / 4).expect("others are answered");
            assert!(unanswered.remove(number).is_some());
        }
        assert_eq!(given_up, 1);
        // It counts no more as one that is waited for, and its reply may still come.
        assert_eq!(wait(&mut unanswered, WRITE_MAX * 2), Ok(0));
        assert!(unanswered.remove(1).is_some_and(|pending| pending.then.is_none()));
    }

    #[test]
    fn a_sync_has_more_time_and_so_has_what_is_asked_meanwhile() {
        let mut unanswered = Unanswered::default();
        unanswered.insert(1, sync());
        unanswered.insert(2, stat());
        unanswered.insert(3, stat());
        assert!(unanswered.remove(3).is_some());
        assert_eq!(wait(&mut unanswered, READ_MAX * 4), Ok(0));
        assert!(unanswered.remove(1).is_some());
        // It may have waited for the sync.
        assert_eq!(wait(&mut unanswered, READ_MAX - STEP), Ok(0));
        assert_eq!(wait(&mut unanswered, STEP), Ok(1));
        unanswered.insert(4, sync());
        assert_eq!(wait(&mut unanswered, WRITE_MAX), Ok(0));
        assert_eq!(wait(&mut unanswered, STEP), Err(WRITE_MAX));
    }
}
