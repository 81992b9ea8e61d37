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

/// The maximum time for which whoever makes a request that changes nothing waits, however many are
/// executed before it: nobody can end a program that waits.
const WAIT_MAX: Duration = Duration::from_secs(1800);

/// The time without a sign of the agent after which it is asked whether it answers. Other requests
/// say nothing if there are none.
const PROBE_AFTER: Duration = Duration::from_secs(30);

/// The minimum time without a complete answer on a connection for which bytes that arrive there
/// count as signs that the wire is slow.
const ARRIVING_MIN: Duration = Duration::from_secs(10);

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
    /// For how long whoever asked has waited; `None` before the first look.
    waited: Option<Duration>,
}

/// How long the agent may execute a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// [`READ_MAX`] while no write is unanswered.
    Read,
    /// [`WRITE_MAX`], and it changes nothing if it is executed later.
    Sync,
    /// [`WRITE_MAX`].
    Write,
    /// Whoever asks for a block has a limit of its own.
    Own,
}

impl Limit {
    fn from_ask(ask: &Ask) -> Self {
        match ask.kind() {
            _ if matches!(ask, Ask::Sync(..) | Ask::SyncFolder(_)) => Self::Sync,
            AskKind::Look | AskKind::Read => Self::Read,
            AskKind::Write | AskKind::Reserve => Self::Write,
            AskKind::Block => Self::Own,
        }
    }

    /// Returns whether the disk may write for as long as the request is unanswered.
    fn is_of_disk(self) -> bool {
        matches!(self, Self::Write | Self::Sync)
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
            waited: None,
        }
    }

    /// Notes that the time `passed` has passed, by which the agent has begun with the request if
    /// `has_begun`, or an answer `is_arriving`.
    fn pass(&mut self, passed: Duration, has_begun: bool, is_arriving: bool) {
        // The first time may have passed before the request was made.
        let add = |time: Option<Duration>| time.map_or(Duration::ZERO, |before| before + passed);
        self.waited = Some(add(self.waited));
        if has_begun {
            self.executed = Some(if is_arriving { Duration::ZERO } else { add(self.executed) });
        }
    }

    /// Returns whether the request should be answered by now; `calm` is the time since a write or a
    /// sync was unanswered.
    fn is_late(&self, calm: Duration) -> bool {
        let executed = self.executed.unwrap_or_default();
        let waited = self.waited.unwrap_or_default();
        let is_long = executed.min(calm) >= READ_MAX || executed >= WRITE_MAX;
        is_long || waited >= WAIT_MAX && self.limit != Limit::Write
    }
}

/// What an agent should have answered by now.
pub enum Late {
    /// These requests, which are given up: the agent has answered others meanwhile.
    Alone(Vec<Then>),
    /// A request that cannot be given up alone, or all requests, for this time.
    All(Duration),
    /// Nothing yet, but the agent is to be asked whether it answers at all.
    Doubtful,
}

/// The requests to an agent that are not answered yet.
#[derive(Default)]
pub struct Unanswered {
    /// By number. An agent begins with the requests of one connection in this order.
    requests: BTreeMap<u64, Pending>,
    links: [Progress; FILES_LINKS as usize],
    /// The time since the agent has sent anything on any connection.
    quiet: Duration,
    /// Whether the agent was asked whether it answers, since it has last sent anything.
    is_probed: bool,
    /// The time since a write or a sync was unanswered.
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
        self.hear();
        Some(pending)
    }

    fn hear(&mut self) {
        self.quiet = Duration::ZERO;
        self.is_probed = false;
    }

    /// Returns all requests.
    pub fn into_requests(self) -> impl Iterator<Item = Pending> {
        self.requests.into_values()
    }

    /// Notes that the time `passed` has passed, and returns which requests are late by now.
    /// `has_moved` says on which connections bytes have arrived in this time.
    ///
    /// A request counts from when the agent has surely begun to execute it, so that many requests
    /// may wait for a slow disk: when it is the oldest of its connection, or a younger one was
    /// answered. An answer that takes long to arrive, since the wire is slow, is not late.
    pub fn pass(&mut self, passed: Duration, has_moved: &[bool]) -> Late {
        let is_calm = !self.requests.values().any(|pending| pending.limit.is_of_disk());
        self.calm = if is_calm { self.calm.saturating_add(passed) } else { Duration::ZERO };
        self.quiet = self.quiet.saturating_add(passed);
        if has_moved.contains(&true) {
            self.hear();
        }
        let mut is_arriving = [false; FILES_LINKS as usize];
        for (place, link) in self.links.iter_mut().enumerate() {
            link.quiet = link.quiet.saturating_add(passed);
            // On a faster wire answers that arrive say nothing about one that does not.
            let has_moved = has_moved.get(place).is_some_and(|has_moved| *has_moved);
            is_arriving[place] = has_moved && link.quiet >= ARRIVING_MIN;
        }
        let mut has_older = [false; FILES_LINKS as usize];
        let mut late = Vec::new();
        let mut is_doubtful = false;
        for (number, pending) in &mut self.requests {
            if pending.then.is_none() || pending.limit == Limit::Own {
                continue;
            }
            let link = usize::from(pending.link);
            let is_oldest = !std::mem::replace(&mut has_older[link], true);
            let has_begun = is_oldest || *number <= self.links[link].answered;
            pending.pass(passed, has_begun, is_arriving[link]);
            let executed = pending.executed.unwrap_or_default();
            is_doubtful |= executed.min(self.quiet) >= PROBE_AFTER;
            if !pending.is_late(self.calm) {
                continue;
            }
            let is_quiet = executed >= READ_MAX && self.quiet >= executed;
            // A write that is executed later would replace what was written meanwhile.
            if pending.limit == Limit::Write || is_quiet {
                return Late::All(executed);
            }
            late.push(*number);
        }
        if late.is_empty() && is_doubtful && !self.is_probed {
            self.is_probed = true;
            return Late::Doubtful;
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
            match unanswered.pass(STEP, &[]) {
                Late::Alone(some) => given_up += some.len(),
                Late::All(executed) => return Err(executed),
                Late::Doubtful => {}
            }
        }
        Ok(given_up)
    }

    #[test]
    fn a_slow_disk_that_answers_one_request_after_the_other_is_late_after_half_an_hour() {
        let mut unanswered = Unanswered::default();
        (1..=64).for_each(|number| unanswered.insert(number, read()));
        for number in 1..=14 {
            assert_eq!(wait(&mut unanswered, READ_MAX), Ok(0), "request {number}");
            assert!(unanswered.remove(number).is_some());
        }
        assert_eq!(wait(&mut unanswered, READ_MAX / 2), Ok(0));
        assert!(unanswered.remove(15).is_some());
        // Nobody can end a program that waits for a reply.
        assert_eq!(wait(&mut unanswered, READ_MAX / 2 + STEP), Ok(49));
    }

    #[test]
    fn a_connection_on_which_nothing_is_answered_is_not_late_while_the_other_one_serves() {
        let mut unanswered = Unanswered::default();
        (1..=3).for_each(|number| unanswered.insert(number, read()));
        let mut given_up = 0;
        for number in 4..=16 {
            unanswered.insert(number, stat());
            given_up += wait(&mut unanswered, READ_MAX / 8).expect("others are answered");
            assert!(unanswered.remove(number).is_some());
        }
        assert_eq!(given_up, 1);
        assert_eq!(wait(&mut unanswered, READ_MAX * 2), Err(READ_MAX));
    }

    #[test]
    fn an_answer_that_is_arriving_is_not_late_on_a_slow_wire() {
        let mut unanswered = Unanswered::default();
        unanswered.insert(1, read());
        let steps = (READ_MAX * 4).as_millis() / STEP.as_millis();
        // Three looks of four see no packet.
        for step in 0..steps {
            let late = unanswered.pass(STEP, &[false, step % 4 == 0]);
            assert!(matches!(late, Late::Alone(late) if late.is_empty()));
        }
        assert!(unanswered.remove(1).is_some());
    }

    #[test]
    fn answers_that_arrive_say_nothing_about_one_that_does_not() {
        let mut unanswered = Unanswered::default();
        unanswered.insert(1, read());
        let mut given_up = 0;
        for number in 2..200 {
            unanswered.insert(number, read());
            for _ in 0..4 {
                match unanswered.pass(STEP, &[false, true]) {
                    Late::Alone(late) => given_up += late.len(),
                    Late::All(_) | Late::Doubtful => panic!("the agent answers"),
                }
            }
            assert!(unanswered.remove(number).is_some());
        }
        assert_eq!(given_up, 1);
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
