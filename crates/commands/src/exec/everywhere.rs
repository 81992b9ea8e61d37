//! Runs a command on all nodes: at once on those that have answered, and on each late one as soon
//! as it answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_control::{CommandEnd, CommandEnds, CommandNews, CommandRequest, run_command};
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

/// Runs the command of `request` on the nodes of `fleet`, which `builder` has assembled. Returns
/// how it ended on each, and the processes that keep the agents alive. Late nodes get no input.
/// `waits` is that of [`run_command`].
///
/// # Errors
/// Those of [`run_command`], and when the state directory cannot be read.
pub fn run(
    builder: &FleetBuilder<'_>,
    fleet: Fleet,
    request: CommandRequest<'_>,
    news: &mut OnNews<'_>,
    waits: &mut dyn FnMut(&[usize]),
) -> Result<(CommandEnds, Children), Failure> {
    let Fleet { agents, mut children } = fleet;
    let late = builder.late_logins(&mut children);
    let CommandRequest { words, timeout, interrupts, .. } = request;
    let count = agents.len();
    let is_late = |place: &usize| late.places.contains(place);
    let punctual: Vec<usize> = (0..count).filter(|place| !is_late(place)).collect();
    let agents = agents.into_iter().enumerate().filter(|(place, _)| !is_late(place));
    let agents = agents.map(|(_, agent)| agent).collect();
    let news = Mutex::new(news);
    let over = Arc::new(AtomicBool::new(false));
    let cancellation = Cancellation::by(builder.interrupts.clone()).or_when(&over);
    let (ran, late) = std::thread::scope(|scope| {
        let late = threads::spawn_in(scope, "late", || {
            if late.places.is_empty() {
                return Ok(None);
            }
            let run_late = |place: usize, agent| {
                let request = CommandRequest { words, input: None, timeout, interrupts };
                let mut news = |_: usize, event: CommandNews<'_>| {
                    let mut tell = news.lock();
                    tell(place, event)
                };
                let ran = run_command(vec![agent], request, &mut news, &mut |_| {});
                let failed = |error| vec![CommandEnd::Failed(reason(&error))];
                let ends = ran.map_or_else(failed, |ends| ends.nodes);
                ends.into_iter().map(|end| (place, end)).collect::<Vec<_>>()
            };
            builder.on_late(late, &cancellation, run_late).map(Some)
        });
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
        Ok::<_, Failure>((ran.or_nothing(RUNNING)?, late?))
    })?;
    let mut ends = vec![CommandEnd::Interrupted; count];
    let made = late.map(|late| children.add_late(late)).unwrap_or_default();
    let punctual = punctual.into_iter().zip(ran.nodes);
    for (place, end) in punctual.chain(made.into_iter().flatten()) {
        ends[place] = end;
    }
    Ok((CommandEnds { nodes: ends, ..ran }, children))
}
