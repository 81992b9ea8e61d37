//! The sruns of a command. One starts the agents of all nodes; those of nodes from which another
//! one keeps the program, as it does not read it, are started by further ones, each of a part of
//! these nodes, and so on: the node that does not read is alone in the end.
//!
//! Which node it is cannot be told: srun says nothing of it, and a node may say what it likes.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_core::cluster::Node;
use garland_protocol::wire::ReadyLine;
use garland_sys::sync::Mutex;

use super::step::{Step, Waits, limit};
use crate::at_once::at_once;
use crate::launch::binary::Binary;
use crate::launch::bootstrap;
use crate::launch::cancellation::Cancellation;
use crate::launch::child::{LaunchedChild, StartTerms, Starting};
use crate::launch::error::{LaunchError, cannot};
use crate::launch::input::upload_limit;

/// How long the next line is awaited while the program is sent.
const SENDING_POLL: Duration = Duration::from_millis(2);

/// The maximum number of parts of a step in which the program is stuck. They start at once, as
/// agents that are ready do not wait for long.
const PARTS_MAX: usize = 16;

/// The maximum number of sruns of a command that run at once: many nodes may not read.
const SRUNS_MAX: usize = 256;

/// What became of the agents of all nodes, and the sruns that keep them alive.
#[derive(Default)]
pub struct Started {
    /// The agent of each node, or why there is none.
    pub ends: HashMap<String, Result<ReadyLine, LaunchError>>,
    /// The sruns.
    pub children: Vec<LaunchedChild>,
}

/// The sruns of a command.
pub struct Steps<'a> {
    /// Makes the srun for nodes.
    command: &'a (dyn Fn(&[Node]) -> Command + Sync),
    binary: &'a Binary,
    terms: StartTerms,
    log: &'a Path,
    /// The number of sruns that run, or will.
    sruns: Mutex<usize>,
    /// Whether an agent of any step is ready.
    is_ready: AtomicBool,
    started: Mutex<Started>,
}

/// How the start of a step's agents has ended.
enum Ended {
    /// All are ready or have failed.
    Settled,
    /// Some wait for the program, which is sent no further.
    Stuck,
    /// srun has failed.
    Failed(LaunchError),
}

/// The steps that start at the same time.
struct Beside {
    count: usize,
    /// How long the program took to be sent to those that have it.
    times: Mutex<Vec<Duration>>,
}

impl Beside {
    fn new(count: usize) -> Self {
        Self { count, times: Mutex::default() }
    }
}

impl<'a> Steps<'a> {
    /// Creates the sruns, of which there is none yet. `command` makes one for nodes.
    pub fn new(
        command: &'a (dyn Fn(&[Node]) -> Command + Sync),
        binary: &'a Binary,
        terms: StartTerms,
        log: &'a Path,
    ) -> Self {
        Self {
            command,
            binary,
            terms,
            log,
            sruns: Mutex::new(1),
            is_ready: AtomicBool::new(false),
            started: Mutex::default(),
        }
    }

    /// Starts the agents of all `nodes`.
    pub fn start(self, nodes: &[Node], waits: Waits) -> Started {
        self.start_step(nodes, waits, &Beside::new(1));
        self.started.into_inner()
    }

    /// Starts the agents of `nodes` in one step, and those that wait for the program in others if
    /// it is stuck.
    fn start_step(&self, nodes: &[Node], waits: Waits, beside: &Beside) {
        let tasks = (nodes.len() > 1).then_some(nodes.len());
        let terms = StartTerms { tasks, ..self.terms.clone() };
        let mut step = Step::new(nodes, waits);
        let mut starting = match Starting::start((self.command)(nodes), self.log, &terms) {
            Ok(starting) => starting,
            Err(error) => {
                let error = cannot("run srun", "; install Slurm's client commands")(error);
                return self.started.lock().ends.extend(step.into_ends(&error));
            }
        };
        let ended = self.drive(&mut starting, &mut step, beside);
        let now = starting.waited();
        let waits = step.waits_again(now);
        let waiting = step.waiting();
        let is_stuck = matches!(ended, Ended::Stuck);
        let why = match ended {
            Ended::Failed(error) => error,
            Ended::Settled | Ended::Stuck => "its agent is not ready".into(),
        };
        let has_ready = step.has_ready();
        if is_stuck {
            step.give_up_all(now);
        }
        self.started.lock().ends.extend(step.into_ends(&why));
        if is_stuck && !has_ready {
            starting.abandon();
            *self.sruns.lock() -= 1;
        } else {
            self.started.lock().children.push(starting.keep());
        }
        if let Some(waits) = waits.filter(|_| is_stuck) {
            let parts = self.parts_of(nodes, &waiting);
            let beside = Beside::new(parts.len());
            at_once(&parts, PARTS_MAX, |part| self.start_step(part, waits, &beside));
        }
    }

    /// Returns the parts of those of a step's `nodes` that are `waiting` for the program, in which
    /// they are started anew; none if no other node keeps it from them, or there are too many
    /// sruns. The sruns of these parts count from now on.
    fn parts_of(&self, nodes: &[Node], waiting: &BTreeSet<String>) -> Vec<Vec<Node>> {
        let again: Vec<Node> =
            nodes.iter().filter(|node| waiting.contains(&node.name)).cloned().collect();
        let mut sruns = self.sruns.lock();
        let count = again.len().min(PARTS_MAX).min(SRUNS_MAX.saturating_sub(*sruns));
        // A part that is all of the step would be stuck in the same way.
        let is_less = count > 1 || again.len() < nodes.len();
        if count == 0 || !is_less {
            return Vec::new();
        }
        let parts = again.chunks(again.len().div_ceil(count));
        *sruns += parts.len();
        parts.map(<[Node]>::to_vec).collect()
    }

    /// Reads what the tasks say, and sends the program to those that wait for it, until all agents
    /// are ready or have failed. Sending waits for nobody, so that a task that does not read hides
    /// no line.
    fn drive(&self, starting: &mut Starting, step: &mut Step, beside: &Beside) -> Ended {
        let mut program = Vec::new();
        let mut sent = None;
        while !step.is_settled() {
            let now = starting.waited();
            if self.is_ready.load(Ordering::Relaxed) {
                step.others_are_ready(now);
            }
            if sent.is_none() && step.needs_program() {
                if program.is_empty() {
                    match self.binary.bytes() {
                        Ok(bytes) => program = [bootstrap::SEND, bytes].concat(),
                        Err(error) => return Ended::Failed(error),
                    }
                }
                step.sending(now, upload_limit(program.len()));
                sent = Some(0);
            }
            if let (Some(at), Some(input)) = (sent, starting.input()) {
                let at = at + input.write_some(&program[at..]);
                if sent != Some(at) {
                    step.sending_goes_on(now);
                }
                sent = (at < program.len()).then_some(at);
                if sent.is_none() {
                    beside.times.lock().push(step.sent(now));
                    continue;
                }
                if beside.count > 1 {
                    step.limit_sending(limit(&mut beside.times.lock(), beside.count));
                }
            }
            if step.is_stuck(now) && step.needs_program() {
                return Ended::Stuck;
            }
            let poll = if sent.is_some() { SENDING_POLL } else { Cancellation::POLL_INTERVAL };
            match starting.line_within(poll) {
                Ok(Some(line)) => step.handle(starting.waited(), &line, self.binary),
                Ok(None) => {}
                Err(LaunchError::Ended(words)) => {
                    return Ended::Failed(LaunchError::Ended(format!("srun: {words}")));
                }
                Err(error) => return Ended::Failed(error),
            }
            if step.has_ready() {
                self.is_ready.store(true, Ordering::Relaxed);
            }
            step.give_up_late(starting.waited());
        }
        Ended::Settled
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::NOT_READ;
    use super::*;

    /// More than a pipe holds.
    const SIZE: usize = 200_000;

    /// Starts agents of `nodes` by shells, which run the `script` of their nodes in place of srun.
    /// Returns the nodes' ends, empty for an agent, and the number of shells that are left.
    fn started(
        nodes: &[Node],
        script: &(dyn Fn(&[Node]) -> String + Sync),
    ) -> (Vec<String>, usize) {
        let binary = Binary::from_bytes(vec![0; SIZE], "00".to_owned(), "x86_64");
        let log = std::env::temp_dir().join(format!("garland-srun-{}", std::process::id()));
        let terms = StartTerms { is_elsewhere: true, ..StartTerms::default() };
        let command = |nodes: &[Node]| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &script(nodes)]);
            shell
        };
        let steps = Steps::new(&command, &binary, terms, &log);
        let waits = Waits { sending: Duration::from_secs(3), ..Waits::FIRST };
        let Started { ends, mut children } = steps.start(nodes, waits);
        children.iter_mut().for_each(LaunchedChild::kill);
        std::fs::remove_file(log).expect("there is a log");
        let end = |node: &Node| match &ends[&node.name] {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        (nodes.iter().map(end).collect(), children.len())
    }

    fn nodes(count: usize) -> Vec<Node> {
        (1..=count).map(|number| Node::named(&format!("n{number}"))).collect()
    }

    /// Returns a script that prints `text` for each of `nodes`, with the number of its task.
    fn say(nodes: &[Node], text: &str) -> String {
        let line = |task: usize| match nodes.len() {
            1 => format!("echo '{text}'; "),
            _ => format!("echo '{task}: {text}'; "),
        };
        (0..nodes.len()).map(line).collect()
    }

    /// What a task prints whose agent is ready.
    fn ready() -> String {
        format!("garland-agent 0.1.0 4001 {}", "0a".repeat(32))
    }

    #[test]
    fn the_program_reaches_a_task_while_another_one_is_silent() {
        let script = |_: &[Node]| {
            let last = ready();
            format!(
                "echo '0: AT n1 -'; echo '1: AT n2 -'; echo '1: NEED x86_64 -'; \
                 read -r word; head -c {SIZE} >/dev/null; echo '1: {last}'"
            )
        };
        let (ends, sruns) = started(&nodes(2), &script);
        assert_eq!((&*ends[1], sruns), ("", 1));
        assert!(!ends[0].is_empty(), "the script has ended, and n1 has said nothing");
    }

    #[test]
    fn a_node_that_asks_for_the_program_and_does_not_read_it_is_alone_in_the_end() {
        let script = |nodes: &[Node]| {
            let asks = say(nodes, "NEED x86_64 -");
            match nodes.iter().any(|node| node.name == "n7") {
                true => format!("{asks} exec sleep 100"),
                false => format!(
                    "{asks} read -r word; head -c {SIZE} >/dev/null; {} exec cat >/dev/null",
                    say(nodes, &ready())
                ),
            }
        };
        let (ends, sruns) = started(&nodes(18), &script);
        for (node, end) in ends.iter().enumerate() {
            assert_eq!(end, if node == 6 { NOT_READ } else { "" }, "n{}", node + 1);
        }
        // Those that are stuck are ended: one of all nodes, one of nine parts, one of two nodes.
        assert_eq!(sruns, 8 + 1);
    }
}
