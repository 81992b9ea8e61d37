//! The head's side of `garland top`, which requests the activity of all nodes at intervals.

use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use garland_protocol::{FromAgent, NodeView, ToAgent};
use garland_sys::clock;

use crate::agent_set::AgentEvent;
use crate::agents::{Agents, silence};
use crate::copy::Agent;

/// The longest interval between two [`Watched::Turn`].
const TURN: Duration = Duration::from_millis(100);

/// An event for the caller of [`watch`].
#[derive(Debug)]
pub enum Watched {
    /// The activity of the node with this index.
    Node(usize, Box<NodeView>),
    /// The node with this index is lost for this reason, and is no longer asked.
    Lost(usize, String),
    /// The end of an iteration: the display can be drawn, and one of `others` may be readable.
    Turn,
}

/// A node that is watched.
struct Node {
    /// The time of the next request in monotonic nanoseconds; none while the node's answer is
    /// awaited.
    due_ns: Option<u64>,
    gone: bool,
}

/// Requests the activity of all `agents` at intervals of `every`, and passes events to `tell` until it
/// returns `Break`. A node with slow answers is asked less often. `tell` is also called when one of
/// `others` is readable.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn watch(
    agents: Vec<Result<Agent, String>>,
    every: Duration,
    others: &[BorrowedFd<'_>],
    tell: &mut dyn FnMut(Watched) -> ControlFlow<()>,
) -> std::io::Result<()> {
    let now = clock::now_ns();
    let (mut agents, reasons) = Agents::split(agents);
    let mut nodes = Vec::new();
    for (at, reason) in reasons.into_iter().enumerate() {
        nodes.push(Node { due_ns: Some(now), gone: reason.is_some() });
        if reason.is_some_and(|reason| tell(Watched::Lost(at, reason)).is_break()) {
            return Ok(());
        }
    }
    loop {
        for news in turn(&mut agents, &mut nodes, every, others)? {
            if tell(news).is_break() {
                return Ok(());
            }
        }
    }
}

/// Sends the requests that are due, waits briefly, and returns the events that have arrived.
fn turn(
    agents: &mut Agents,
    nodes: &mut [Node],
    every: Duration,
    others: &[BorrowedFd<'_>],
) -> std::io::Result<Vec<Watched>> {
    let now = clock::now_ns();
    for (at, node) in nodes.iter_mut().enumerate().filter(|(_, node)| !node.gone) {
        if node.due_ns.is_some_and(|due| due <= now) {
            node.due_ns = None;
            agents.send(at, &ToAgent::View);
        }
    }
    let next_ns = nodes.iter().filter_map(|node| node.due_ns).min().unwrap_or(u64::MAX);
    let events = agents.wait(others.iter().copied(), clock::until(next_ns).min(TURN))?;
    let now = clock::now_ns();
    let mut news = Vec::new();
    for (at, event) in events {
        let node = &mut nodes[at];
        match event {
            AgentEvent::Message(FromAgent::Viewed(mut view)) => {
                view.bound();
                // Count the interval from the answer, so that a busy node never has two requests.
                node.due_ns = Some(now + every.as_nanos() as u64);
                news.push(Watched::Node(at, view));
            }
            AgentEvent::Message(_) => {}
            AgentEvent::Lost(reason) if !node.gone => {
                node.gone = true;
                news.push(Watched::Lost(at, reason));
            }
            AgentEvent::Lost(_) => {}
        }
    }
    for (at, node) in nodes.iter_mut().enumerate().filter(|(_, node)| !node.gone) {
        if agents.is_silent(at) {
            node.gone = true;
            news.push(Watched::Lost(at, silence()));
        }
    }
    news.push(Watched::Turn);
    Ok(news)
}
