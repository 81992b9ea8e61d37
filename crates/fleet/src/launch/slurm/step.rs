//! What the tasks of a Slurm step have said, which of them wait for the program, and which are
//! given up. A node may lie or be silent: neither costs another node its agent.

use std::collections::BTreeSet;
use std::time::Duration;

use garland_core::cluster::Node;
use garland_protocol::wire::ReadyLine;

use crate::launch::binary::Binary;
use crate::launch::bootstrap::{self, ASKS_AGAIN, BootstrapLine, PLACES};
use crate::launch::error::LaunchError;
use crate::launch::stdout::labelled;

/// The longest time in which a task must report after its start, or after it got the program.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Once half of the tasks have taken this step, the others have three times their median time for
/// it, and this time.
const ANSWER_SLACK: Duration = Duration::from_secs(20);

/// What is said of a task that is given up.
const NOT_STARTED: &str = "its agent did not start within";

/// What is said of a node for which two agents report: one of them is not its own.
const TWO_AGENTS: &str = "its task of the Slurm step reports two agents: a node that lies in the \
                          step speaks as this one";

/// Why a node that waits for the program does not get it.
const NOT_SENT: &str =
    "the program cannot be sent to it: a node of its Slurm step does not read it";

/// Why the only node of a step does not get the program.
pub const NOT_READ: &str = "it does not read the program";

/// How long the tasks of a step are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// How long agents that are ready, also those of other steps, may wait for others.
    pub ready: Duration,
    /// How long the start may take in all.
    pub all: Duration,
    /// How long the program may be sent without progress: a task that does not read may keep it
    /// from all.
    pub sending: Duration,
}

impl Waits {
    /// Those of a command's first step.
    pub const FIRST: Self = Self {
        // An agent that nobody has used ends after 60 s.
        ready: Duration::from_secs(45),
        all: Duration::from_secs(180),
        sending: Duration::from_secs(20),
    };

    /// How long the program may be sent without progress in a step of those that did not get it in
    /// another one: a node that does not read is among them.
    const RESENDING_TIMEOUT: Duration = Duration::from_secs(10);
}

/// The state of a task of the step; there is one per node.
enum State {
    /// The task has not said yet whether it has the program.
    Starting,
    /// The task has asked for the program so many times.
    Needing(usize),
    /// The task's agent is ready, or has failed.
    Settled(Result<ReadyLine, LaunchError>),
}

struct Task {
    name: String,
    state: State,
    /// When the task got what it needs for its next report, from the step's start on.
    since: Duration,
}

/// A sending of the program to all tasks.
struct Sending {
    /// When the sending began.
    began: Duration,
    /// When a part was last sent.
    last: Duration,
    /// When the sending must be over.
    until: Duration,
}

/// The tasks of a step, in the order of the numbers that `srun` prints before their lines. Times
/// count from the step's start.
pub struct Step {
    tasks: Vec<Task>,
    /// How many times the program was sent to all tasks. srun sends it to all, and what a task has
    /// not read yet waits for it: whoever asks late finds it.
    sent: usize,
    /// How the program is being sent, while it is.
    sending: Option<Sending>,
    /// How long each task took for its first report, and for that after it got the program.
    first_reports: Vec<Duration>,
    later_reports: Vec<Duration>,
    /// When the first agent of this step, or of one beside it, became ready.
    first_ready: Option<Duration>,
    waits: Waits,
}

impl Step {
    /// Creates the step of `nodes`, whose task of number n Slurm runs on the node of index n.
    pub fn new(nodes: &[Node], waits: Waits) -> Self {
        let task = |node: &Node| Task {
            name: node.name.clone(),
            state: State::Starting,
            since: Duration::ZERO,
        };
        Self {
            tasks: nodes.iter().map(task).collect(),
            sent: 0,
            sending: None,
            first_reports: Vec::new(),
            later_reports: Vec::new(),
            first_ready: None,
            waits,
        }
    }

    /// Handles a line of output that came at `now`. If the step has several tasks, the number of
    /// the line's task precedes it, as in `3: NEED x86_64 -`.
    pub fn handle(&mut self, now: Duration, line: &str, binary: &Binary) {
        let alone = self.tasks.len() == 1;
        let Some((rank, text)) = (if alone { Some((0, line)) } else { labelled(line) }) else {
            return;
        };
        let Some(task) = self.tasks.get_mut(rank) else { return };
        let parsed = BootstrapLine::parse(text);
        match &task.state {
            // An agent that was ready may end while others start.
            State::Settled(Ok(_)) if matches!(parsed, BootstrapLine::Ended(_)) => {}
            // srun believes the number that a node's daemon writes.
            State::Settled(Ok(ready)) => {
                if ReadyLine::parse(text).is_some_and(|other| other != *ready) {
                    task.state = State::Settled(Err(TWO_AGENTS.into()));
                }
                return;
            }
            State::Settled(Err(_)) => return,
            State::Starting | State::Needing(_) => {}
        }
        let next = match parsed {
            // The number is Slurm's word, the name that of the node.
            BootstrapLine::At(Some(name), _) if name != task.name => {
                let text = format!(
                    "Slurm started task {rank} of the step on it, which says that it runs on {name}"
                );
                State::Settled(Err(LaunchError::Refused(text)))
            }
            BootstrapLine::Need { machine, missing } => {
                let asked = match task.state {
                    // It was not sent yet what it asks for.
                    State::Needing(asked) if asked > self.sent => return,
                    State::Needing(asked) => asked + 1,
                    State::Starting | State::Settled(_) => 1,
                };
                match bootstrap::fits(binary, &machine, missing.as_deref()) {
                    Ok(()) if asked > PLACES => State::Settled(Err(ASKS_AGAIN.into())),
                    Ok(()) => State::Needing(asked),
                    Err(error) => State::Settled(Err(error)),
                }
            }
            BootstrapLine::Refused(why) => State::Settled(Err(bootstrap::refused(&why))),
            BootstrapLine::Ended(status) => {
                let words = format!("its agent ended with status {status} before it was ready");
                State::Settled(Err(LaunchError::Ended(words)))
            }
            BootstrapLine::At(..) | BootstrapLine::Unserved(_) => return,
            BootstrapLine::Other => match ReadyLine::parse(text) {
                Some(ready) => State::Settled(Ok(ready)),
                None => return,
            },
        };
        let took = now.saturating_sub(task.since);
        match task.state {
            State::Starting => self.first_reports.push(took),
            State::Needing(_) => self.later_reports.push(took),
            State::Settled(_) => {}
        }
        if matches!(next, State::Settled(Ok(_))) {
            self.first_ready.get_or_insert(now);
        }
        task.state = next;
        task.since = now;
    }

    /// Returns whether all agents are ready or have failed.
    pub fn is_settled(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task.state, State::Settled(_)))
    }

    /// Returns whether the program is to be sent: a task waits for it.
    pub fn needs_program(&self) -> bool {
        self.tasks.iter().any(|task| self.waits(task))
    }

    fn waits(&self, task: &Task) -> bool {
        matches!(task.state, State::Needing(asked) if asked > self.sent)
    }

    /// Returns whether an agent of this step has become ready.
    pub fn has_ready(&self) -> bool {
        self.tasks.iter().any(|task| matches!(task.state, State::Settled(Ok(_))))
    }

    /// Notes that agents of another step are ready, which wait for this one.
    pub fn others_are_ready(&mut self, now: Duration) {
        self.first_ready.get_or_insert(now);
    }

    /// Notes that the program begins to be sent, which may take `limit`.
    pub fn sending(&mut self, now: Duration, limit: Duration) {
        let until = now.saturating_add(limit);
        self.sending = Some(Sending { began: now, last: now, until });
    }

    /// Limits the time of the sending that goes on, if one does.
    pub fn limit_sending(&mut self, limit: Duration) {
        if let Some(sending) = &mut self.sending {
            sending.until = sending.until.min(sending.began.saturating_add(limit));
        }
    }

    /// Notes that a part of the program was sent.
    pub fn sending_goes_on(&mut self, now: Duration) {
        self.sending.iter_mut().for_each(|sending| sending.last = now);
    }

    /// Notes that all of the program was sent once more. Returns how long that took.
    pub fn sent(&mut self, now: Duration) -> Duration {
        let began = self.sending.take().map_or(now, |sending| sending.began);
        self.sent += 1;
        let sent = self.sent;
        let has_it =
            |task: &&mut Task| matches!(task.state, State::Needing(asked) if asked == sent);
        self.tasks.iter_mut().filter(has_it).for_each(|task| task.since = now);
        now.saturating_sub(began)
    }

    /// Returns whether the program is sent no further, or too slowly, because a task does not read.
    /// Agents that are ready do not wait for it to the end of their time: then nothing would be
    /// left for other steps.
    pub fn is_stuck(&self, now: Duration) -> bool {
        let ready_waited = self.first_ready.map(|ready| now.saturating_sub(ready));
        let is_late = ready_waited.is_some_and(|waited| waited > self.waits.ready * 2 / 3);
        let is_stuck = |sending: &Sending| {
            is_late || now.saturating_sub(sending.last) > self.waits.sending || now > sending.until
        };
        self.sending.as_ref().is_some_and(is_stuck)
    }

    /// Gives up the tasks that report nothing for much longer than the others took, and all that
    /// are not ready when others have waited long for them.
    pub fn give_up_late(&mut self, now: Duration) {
        let ready_waited = self.first_ready.map(|ready| now.saturating_sub(ready));
        let is_over =
            now > self.waits.all || ready_waited.is_some_and(|waited| waited > self.waits.ready);
        let count = self.tasks.len();
        let first = limit(&mut self.first_reports, count);
        let later = limit(&mut self.later_reports, count);
        let sent = self.sent;
        for task in &mut self.tasks {
            let waited = now.saturating_sub(task.since);
            let limit = match task.state {
                State::Settled(_) => continue,
                State::Starting => first,
                // It is not its fault.
                State::Needing(asked) if asked > sent => Duration::MAX,
                State::Needing(_) => later,
            };
            if is_over || waited > limit {
                let why = match task.state {
                    State::Needing(asked) if asked > sent => NOT_SENT.into(),
                    _ => LaunchError::Stalled(NOT_STARTED, now.as_secs()),
                };
                task.state = State::Settled(Err(why));
            }
        }
    }

    /// Returns the nodes that wait for the program.
    pub fn waiting(&self) -> BTreeSet<String> {
        let waiting = self.tasks.iter().filter(|task| self.waits(task));
        waiting.map(|task| task.name.clone()).collect()
    }

    /// Returns how long the tasks of another step, of nodes that still wait for the program, are
    /// waited for: what is left of this one's times. None if nothing is.
    pub fn waits_again(&self, now: Duration) -> Option<Waits> {
        let waited = self.first_ready.map(|ready| now.saturating_sub(ready));
        let ready = self.waits.ready.saturating_sub(waited.unwrap_or_default());
        let all = self.waits.all.saturating_sub(now);
        let sending = self.waits.sending.min(Waits::RESENDING_TIMEOUT);
        (!ready.is_zero() && !all.is_zero()).then_some(Waits { ready, all, sending })
    }

    /// Gives up at once all tasks that are not settled. The program is sent no further: those that
    /// wait for it do without.
    pub fn give_up_all(&mut self, now: Duration) {
        let is_alone = self.tasks.len() == 1;
        let sent = self.sent;
        for task in &mut self.tasks {
            let why = match task.state {
                State::Settled(_) => continue,
                State::Needing(asked) if asked > sent && is_alone => NOT_READ.into(),
                State::Needing(asked) if asked > sent => NOT_SENT.into(),
                State::Starting | State::Needing(_) => {
                    LaunchError::Stalled(NOT_STARTED, now.as_secs())
                }
            };
            task.state = State::Settled(Err(why));
        }
    }

    /// Returns what became of each node, by name. `ended` says why the tasks that are not settled
    /// never will be.
    pub fn into_ends(self, ended: &LaunchError) -> Vec<(String, Result<ReadyLine, LaunchError>)> {
        let end = |task: Task| match task.state {
            State::Settled(ready) => (task.name, ready),
            State::Starting | State::Needing(_) => (task.name, Err(ended.clone())),
        };
        self.tasks.into_iter().map(end).collect()
    }
}

/// Returns how long a report may take, if others took `times`, of `count` tasks in all. The same
/// holds for the sending of the program to a step, if there are several.
pub fn limit(times: &mut [Duration], count: usize) -> Duration {
    if times.len() * 2 < count || times.is_empty() {
        return ANSWER_MAX;
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    median.saturating_mul(3).saturating_add(ANSWER_SLACK).min(ANSWER_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary() -> Binary {
        Binary::from_bytes(vec![0; 3], "00".to_owned(), "x86_64")
    }

    fn begun(names: &[&str]) -> Step {
        let nodes: Vec<Node> = names.iter().map(|name| Node::named(name)).collect();
        Step::new(&nodes, Waits::FIRST)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn ready_line() -> String {
        format!("garland-agent 0.1.0 4001 {}", "0a".repeat(32))
    }

    /// The nodes' ends: an empty text if the agent is ready.
    fn ends_of(step: Step) -> Vec<String> {
        let ends = step.into_ends(&"not settled".into()).into_iter();
        ends.map(|(_, end)| end.err().map(|error| error.to_string()).unwrap_or_default()).collect()
    }

    fn say(step: &mut Step, at: Duration, lines: &[&str]) {
        lines.iter().for_each(|line| step.handle(at, line, &binary()));
    }

    #[test]
    fn a_silent_node_is_given_up_and_those_that_are_ready_are_used() {
        let mut step = begun(&["n1", "n2", "n3"]);
        let ready = ready_line();
        say(&mut step, seconds(1), &["0: AT n1 -", "1: AT n2 -", "2: AT n3 -"]);
        say(&mut step, seconds(2), &[&format!("1: {ready}"), &format!("2: {ready}")]);
        // It may be slower than the others.
        step.give_up_late(seconds(20));
        assert!(!step.is_settled());
        step.give_up_late(seconds(27));
        assert!(step.is_settled());
        assert_eq!(ends_of(step), ["its agent did not start within 27 s", "", ""]);
    }

    #[test]
    fn most_nodes_of_a_slow_cluster_are_not_given_up_for_a_quick_one() {
        let mut step = begun(&["n1", "n2", "n3", "n4"]);
        say(&mut step, seconds(1), &[&format!("0: {}", ready_line())]);
        step.give_up_late(seconds(40));
        assert!(!step.is_settled(), "they may take a minute");
        // But the agent that is ready ends if nobody uses it.
        step.give_up_late(seconds(47));
        assert!(step.is_settled());
        assert_eq!(ends_of(step)[0], "");
    }

    #[test]
    fn the_program_goes_to_those_that_wait_while_others_are_silent() {
        let mut step = begun(&["n1", "n2", "n3"]);
        say(&mut step, seconds(1), &["0: AT n1 -", "1: AT n2 -", "1: NEED x86_64 -"]);
        let waits_n2 = |step: &Step| step.waiting().into_iter().eq(["n2"]);
        assert!(step.needs_program() && waits_n2(&step));
        step.sending(seconds(1), seconds(30));
        assert!(!step.is_stuck(seconds(21)) && step.is_stuck(seconds(22)));
        step.sending_goes_on(seconds(30));
        assert!(!step.is_stuck(seconds(31)) && step.is_stuck(seconds(32)), "too slow");
        step.sent(seconds(2));
        assert!(!step.is_stuck(seconds(32)));
        assert!(!step.needs_program(), "it is sent once");
        // What was sent waits for a task that asks late.
        say(&mut step, seconds(3), &["2: AT n3 -", "2: NEED x86_64 -"]);
        assert!(!step.needs_program());
        // Another directory.
        say(&mut step, seconds(3), &["1: NEED x86_64 -"]);
        assert!(step.needs_program() && waits_n2(&step));
        step.sent(seconds(4));
        let ready = ready_line();
        say(&mut step, seconds(5), &[&format!("1: {ready}"), &format!("2: {ready}")]);
        step.give_up_late(seconds(40));
        assert_eq!(ends_of(step), ["its agent did not start within 40 s", "", ""]);
    }

    #[test]
    fn a_node_that_got_the_program_and_says_nothing_is_given_up() {
        let mut step = begun(&["n1", "n2", "n3"]);
        say(&mut step, seconds(1), &["0: NEED x86_64", "1: NEED x86_64", "2: NEED aarch64"]);
        step.sent(seconds(30));
        say(&mut step, seconds(31), &[&format!("1: {}", ready_line())]);
        step.give_up_late(seconds(76));
        assert!(!step.is_settled());
        step.give_up_late(seconds(77));
        let ends = ends_of(step);
        assert_eq!((&*ends[0], &*ends[1]), ("its agent did not start within 77 s", ""));
        assert!(ends[2].contains("aarch64"), "{}", ends[2]);
    }

    #[test]
    fn a_node_speaks_for_itself_alone() {
        let mut step = begun(&["n1", "n2", "n3"]);
        let ready = ready_line();
        // n1 calls itself n2, before n2 has said anything.
        say(&mut step, seconds(1), &["0: AT n2 -", "0: REFUSED for n2", &format!("0: {ready}")]);
        say(&mut step, seconds(1), &["1: AT n2 -", &format!("1: {ready}"), "7: ENDED 1"]);
        say(&mut step, seconds(1), &["2: AT n3 -", "2: NEED x86_64 -", "2: NEED x86_64 -"]);
        assert!(step.waiting().into_iter().eq(["n3"]));
        let why = "Slurm started task 0 of the step on it, which says that it runs on n2";
        assert_eq!(ends_of(step), [why, "", "not settled"]);
    }

    #[test]
    fn a_node_for_which_two_agents_report_is_not_used() {
        // A daemon of n1 writes the number of n2's task, before it or after it.
        let mut step = begun(&["n1", "n2", "n3"]);
        let ready = ready_line();
        let forged = ready.replace("0a", "0b");
        say(&mut step, seconds(1), &[&format!("1: {forged}"), &format!("1: {ready}")]);
        say(&mut step, seconds(1), &[&format!("2: {ready}"), &format!("2: {ready}")]);
        let ends = ends_of(step);
        assert_eq!((&*ends[1], &*ends[2]), (TWO_AGENTS, ""));
    }

    #[test]
    fn agents_that_are_ready_wait_no_longer_for_other_steps_than_for_their_own() {
        // An earlier step has used half of the time; it has agents that are ready.
        let mut first = begun(&["n1", "n2", "n3"]);
        say(&mut first, seconds(1), &[&format!("0: {}", ready_line()), "1: NEED x86_64 -"]);
        let waits = first.waits_again(seconds(22)).expect("time is left");
        assert_eq!((waits.ready, waits.all), (seconds(24), seconds(158)));
        let nodes = ["n2", "n3"].map(Node::named);
        let mut second = Step::new(&nodes, waits);
        second.others_are_ready(seconds(0));
        say(&mut second, seconds(1), &["0: NEED x86_64 -", "1: NEED x86_64 -"]);
        second.sending(seconds(1), seconds(100));
        for now in 1..24 {
            // It takes a little of the program again and again.
            second.sending_goes_on(seconds(now));
            second.give_up_late(seconds(now));
        }
        // There is time for further steps.
        assert!(!second.is_settled() && !second.is_stuck(seconds(16)));
        assert!(second.is_stuck(seconds(17)));
        second.give_up_late(seconds(25));
        assert!(second.is_settled() && second.waits_again(seconds(25)).is_none());
        assert_eq!(ends_of(second), [NOT_SENT, NOT_SENT]);
    }

    #[test]
    fn all_steps_together_have_a_limit() {
        let mut step = begun(&["n1", "n2"]);
        say(&mut step, seconds(1), &["0: NEED x86_64 -", "1: NEED x86_64 -"]);
        step.give_up_late(seconds(180));
        assert!(!step.is_settled(), "nobody is ready, and the program is on its way");
        step.give_up_late(seconds(181));
        assert_eq!(ends_of(step), [NOT_SENT, NOT_SENT]);
    }

    #[test]
    fn a_sending_that_takes_longer_than_others_is_stuck() {
        let mut step = begun(&["n1"]);
        step.limit_sending(seconds(1));
        step.sending(seconds(1), seconds(100));
        step.sending_goes_on(seconds(30));
        assert!(!step.is_stuck(seconds(30)));
        step.limit_sending(seconds(28));
        assert!(step.is_stuck(seconds(30)));
        assert_eq!(step.sent(seconds(30)), seconds(29));
    }

    #[test]
    fn a_node_that_asks_again_and_again_is_given_up() {
        let mut step = begun(&["n1"]);
        for _ in 0..PLACES {
            say(&mut step, seconds(1), &["NEED x86_64 -"]);
            step.sent(seconds(1));
        }
        say(&mut step, seconds(1), &["NEED x86_64 -"]);
        assert_eq!(ends_of(step), [ASKS_AGAIN]);
    }
}
