//! Runs a command on all nodes: at once on those that have answered, and on each late one as soon
//! as it answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_control::{Agent, CommandEnd, CommandEnds, CommandNews, CommandRequest, run_command};
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::launch::Cancellation;
use garland_sys::error::reason;
use garland_sys::signal::Interrupts;
use garland_sys::sync::Mutex;
use garland_sys::threads;
use garland_terminal::failure::{Failure, OrFailure};

/// Gets the index of a node, and an event there: that of [`run_command`].
pub type OnNews<'a> = dyn FnMut(usize, CommandNews<'_>) -> Result<(), String> + Send + 'a;

const RUNNING: &str = "cannot run the command";

/// A command on late nodes.
struct LateCommands<'a, 'n> {
    words: &'a [Vec<u8>],
    timeout: Option<Duration>,
    interrupts: Option<&'a Interrupts>,
    news: &'a Mutex<&'a mut OnNews<'n>>,
    /// How it ended, by the index of the node; the last element of a node counts.
    ends: Mutex<Vec<(usize, CommandEnd)>>,
}

impl LateCommands<'_, '_> {
    /// Runs the command on the node with the index `place`, or tells why it has no agent.
    fn run(&self, place: usize, agent: Result<Agent, String>) {
        let Self { words, timeout, interrupts, .. } = *self;
        let request = CommandRequest { words, input: None, timeout, interrupts };
        let mut news = |_: usize, event: CommandNews<'_>| {
            let mut tell = self.news.lock();
            tell(place, event)
        };
        match run_command(vec![agent], request, &mut news, &mut |_| {}) {
            Ok(ends) => ends.nodes.into_iter().for_each(|end| self.end(place, end)),
            Err(error) => self.end(place, CommandEnd::Failed(reason(&error))),
        }
    }

    fn end(&self, place: usize, end: CommandEnd) {
        self.ends.lock().push((place, end));
    }
}

/// Runs the command of `request` on the nodes of `fleet`, which `builder` has assembled. Returns
/// how it ended on each, and the processes that keep the agents alive. Late nodes get no input.
/// `waits` is that of [`run_command`].
///
/// # Errors
/// Those of [`run_command`].
pub fn run(
    builder: &FleetBuilder<'_>,
    fleet: Fleet,
    request: CommandRequest<'_>,
    news: &mut OnNews<'_>,
    waits: &mut dyn FnMut(&[usize]),
) -> Result<(CommandEnds, Children), Failure> {
    let Fleet { agents, mut children } = fleet;
    let late = children.take_late();
    let CommandRequest { words, timeout, interrupts, .. } = request;
    let count = agents.len();
    let is_late = |place: &usize| late.places.contains(place);
    let punctual: Vec<usize> = (0..count).filter(|place| !is_late(place)).collect();
    let agents = agents.into_iter().enumerate().filter(|(place, _)| !is_late(place));
    let agents = agents.map(|(_, agent)| agent).collect();
    let news = Mutex::new(news);
    let over = Arc::new(AtomicBool::new(false));
    let cancellation = Cancellation::by(builder.interrupts.clone()).or_when(&over);
    let late_commands =
        LateCommands { words, timeout, interrupts, news: &news, ends: Mutex::new(Vec::new()) };
    let commands = &late_commands;
    let cancelled = &cancellation;
    let (ran, late) = std::thread::scope(|scope| {
        // A command may take long: it holds up no login, and nobody who waits for the key.
        let begin_at = move |place: usize, agent: Result<Agent, String>| match agent {
            Ok(agent) => {
                let run = move || commands.run(place, Ok(agent));
                if let Err(error) = threads::spawn_in(scope, "late command", run) {
                    commands.end(place, CommandEnd::Failed(reason(&error)));
                }
            }
            Err(reason) => {
                commands.run(place, Err(reason));
                // Ctrl-C on a terminal also ends the ssh of a login, which gives that as its
                // reason.
                if cancelled.is_cancelled() {
                    commands.end(place, CommandEnd::Interrupted);
                }
            }
        };
        let late =
            threads::spawn_in(scope, "late", move || builder.on_late(late, cancelled, begin_at));
        let late = late.or_nothing(RUNNING)?;
        let mut news = |at: usize, event: CommandNews<'_>| {
            let mut tell = news.lock();
            tell(punctual[at], event)
        };
        // With input no node is late: the indexes are the same.
        let ran = run_command(agents, request, &mut news, waits);
        let has_interrupt = interrupts.is_some_and(Interrupts::have_come);
        over.store(ran.is_err() || has_interrupt, Ordering::Relaxed);
        let late = late.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, Failure>((ran.or_nothing(RUNNING)?, late))
    })?;
    let mut ends = vec![CommandEnd::Interrupted; count];
    children.add_late(late);
    let punctual = punctual.into_iter().zip(ran.nodes);
    for (place, end) in punctual.chain(late_commands.ends.into_inner()) {
        ends[place] = end;
    }
    Ok((CommandEnds { nodes: ends, ..ran }, children))
}
