//! The head's side of a farm: a loop that feeds [`FarmHead`] with the events of all agents and
//! transfers, and obeys its orders.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use garland_protocol::ToAgent;
use garland_protocol::farm::dispatch::{FarmHead, FarmHeadOrder, FarmNews, FarmNode, FarmWork};
use garland_protocol::operation::AgentEvent;
use garland_sys::clock;
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;

use crate::agents::{Agents, CHECK_INTERVAL};
use crate::copy::Agent;
use crate::farm::stager::Stager;
use crate::farm::transfers::TransferThreads;

/// How a run ended.
#[derive(Clone, Debug)]
pub struct FarmEnd {
    /// The state of each node, in the order of the agents.
    pub nodes: Vec<FarmNode>,
    /// Whether the user interrupted.
    pub interrupted: bool,
}

/// Runs jobs on agents until all have ended. `stager` copies the files of jobs that have
/// directories of their own; it must be there if the rules say that jobs are staged. Calls `news`
/// with events.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn run_farm(
    work: FarmWork<'_>,
    stager: Option<&Stager>,
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
    news: &mut dyn FnMut(FarmNews),
) -> io::Result<FarmEnd> {
    let wake = Arc::new(Wake::new()?);
    let nodes = agents.len();
    std::thread::scope(|scope| {
        let transfers = stager.map(|stager| TransferThreads::begin(scope, nodes, stager, &wake));
        let transfers = transfers.transpose()?;
        let (mut agents, gone) = Agents::split(agents);
        let mut head = FarmHead::new(work, gone, clock::now_ns());
        let interrupted = loop {
            for order in head.turn(clock::now_ns()) {
                match order {
                    FarmHeadOrder::Send(node, order) => agents.send(node, &ToAgent::Farm(order)),
                    FarmHeadOrder::Probe(node) => {
                        agents.send(node, &ToAgent::Clock(clock::now_ns()));
                    }
                    FarmHeadOrder::Transfer(transfer) => {
                        if let Some(threads) = &transfers {
                            threads.order(transfer);
                        }
                    }
                    FarmHeadOrder::News(event) => {
                        if let (FarmNews::Lost(node, _), Some(threads)) = (&event, &transfers) {
                            threads.cancel(*node);
                        }
                        news(event);
                    }
                }
            }
            if head.is_over() {
                break false;
            }
            let others = std::iter::once(wake.as_fd()).chain(interrupts.map(AsFd::as_fd));
            for (node, event) in agents.wait(others, CHECK_INTERVAL)? {
                match event {
                    AgentEvent::Message(message) => head.heard(node, message, clock::now_ns()),
                    AgentEvent::Lost(reason) => head.lost(node, reason, clock::now_ns()),
                }
            }
            if interrupts.is_some_and(Interrupts::have_come) {
                break true;
            }
            wake.lower();
            for (transfer, moved) in transfers.iter().flat_map(TransferThreads::done) {
                head.moved(&transfer, moved, clock::now_ns());
            }
            for (node, reason) in agents.silent() {
                head.silent(node, reason, clock::now_ns());
            }
        };
        Ok(FarmEnd { nodes: head.nodes().to_vec(), interrupted })
    })
}
