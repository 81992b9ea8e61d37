//! A round: copies that start at the same time, each with its own head state machine.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_core::plan::{HEAD, NodeId};
use garland_protocol::{
    BalanceOrder, Begin, Destination, End, HeadEvent, NodeAddress, NodeState, ReadBack, ToAgent,
    Verdict,
};
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;

use super::job::{CopyPair, RoundJob};
use super::pair::{PairOutcome, Running, SINK};
use crate::agent_set::AgentEvent;
use crate::agents::{Agents, TURN, silence};
use crate::probe::PairEnd;

/// Timeout for agents to close their copies, in nanoseconds.
const CLOSING_NS: u64 = 10_000_000_000;

/// The copies of a round.
pub struct BalanceRound<'a> {
    job: &'a RoundJob,
    copies: Vec<Running>,
    /// The time at which the feeders started, in monotonic nanoseconds.
    began_ns: u64,
    /// The last time at which any copy made progress, in monotonic nanoseconds.
    moved_ns: u64,
    /// The node which failed first, and why.
    fault: Option<(usize, String)>,
}

impl<'a> BalanceRound<'a> {
    /// Creates the copies of `job`, without starting them. `names` and `addresses` are those of all nodes.
    pub fn new(job: &'a RoundJob, names: &[String], addresses: &[NodeAddress]) -> Self {
        let now = clock::now_ns();
        let copy = |pair: &CopyPair| Running::new(*pair, job.layout, names, addresses, now);
        let copies = job.errands.iter().map(copy).collect();
        Self { job, copies, began_ns: now, moved_ns: now, fault: None }
    }

    /// Returns the outcomes of the copies, in the order of the job.
    pub fn into_outcomes(self) -> Vec<PairOutcome> {
        self.copies.into_iter().map(|copy| copy.outcome).collect()
    }

    fn begin_of(&self, running: &Running, me: NodeId) -> Begin {
        let job = self.job;
        Begin {
            copy: running.copy,
            secret: running.secret.clone(),
            digest_key: if me == HEAD {
                running.digest_key.clone()
            } else {
                running.digest_key.to_public()
            },
            sealed: job.sealed,
            layout: running.plan.layout,
            lanes: running.plan.lanes.iter().map(|lane| lane.blocks).collect(),
            me,
            end: End::Sink(Destination::Scratch { path: job.path.clone(), fsync: job.fsync }),
            stripe: None,
            known: None,
            buffers: 0,
            acknowledge: false,
            routes: running.head.routes(me),
            congestion: job.congestion.clone(),
            mptcp: job.transport == Transport::Mptcp && running.pair.is_remote(),
            pace: 0,
            read_back: ReadBack::default(),
            // The round itself measures the resources.
            trace: 0,
            injections: Vec::new(),
        }
    }

    /// Opens all destinations; nothing is read before the feeders start.
    fn open(&self, agents: &mut Agents) {
        for running in &self.copies {
            let begin = self.begin_of(running, SINK);
            agents.send(running.pair.to, &ToAgent::Begin(Box::new(begin)));
        }
    }

    /// Starts all feeders, and the time measurement.
    fn go(&mut self, agents: &mut Agents) {
        let feeds: Vec<(usize, ToAgent)> = self
            .copies
            .iter()
            .map(|running| {
                let begin = Box::new(self.begin_of(running, HEAD));
                (running.pair.from, ToAgent::Balance(BalanceOrder::Feed(begin)))
            })
            .collect();
        self.began_ns = clock::now_ns();
        feeds.iter().for_each(|(from, order)| agents.send(*from, order));
    }

    fn handle(&mut self, node: usize, event: &AgentEvent) {
        let now = clock::now_ns();
        for running in &mut self.copies {
            if running.handle(now, node, event) {
                self.moved_ns = now;
            }
            if running.outcome.took_ns.is_none() && running.verdict() == Some(Verdict::Ok) {
                running.outcome.took_ns = Some(now - self.began_ns);
            }
        }
    }

    /// Fails copies whose feeder is silent, and all copies if none makes progress for `patience`.
    fn tick(&mut self, agents: &Agents, patience: Duration) {
        let now = clock::now_ns();
        let hangs = u128::from(now.saturating_sub(self.moved_ns)) > patience.as_nanos();
        for running in self.copies.iter_mut().filter(|running| !running.finished) {
            if agents.is_silent(running.pair.from) {
                running.fail(now, silence());
            } else if hangs {
                running.fail(
                    now,
                    format!("no copy of the round made progress for {} s", patience.as_secs()),
                );
            } else if running.head.deadline().is_some_and(|at| at <= now) {
                running.head.handle(now, HeadEvent::Tick);
            }
        }
    }

    /// Executes the orders of all state machines. If a copy has failed, interrupts the others.
    fn execute_orders(&mut self, agents: &mut Agents, began: bool) {
        for running in &mut self.copies {
            running.execute_orders(agents, began);
        }
        if self.fault.is_none() {
            self.fault = self.first_fault();
        }
        if self.fault.is_some() {
            let now = clock::now_ns();
            for running in self.copies.iter_mut().filter(|running| !running.finished) {
                running.head.handle(now, HeadEvent::Interrupted);
                running.execute_orders(agents, began);
            }
        }
    }

    /// Returns the index of the node that made a copy fail, and the reason.
    fn first_fault(&self) -> Option<(usize, String)> {
        let mut failed = self.copies.iter().filter(|running| running.finished);
        failed.find_map(|running| match (&running.fault, running.verdict()?) {
            (Some(reason), _) => Some((running.pair.from, reason.clone())),
            (None, Verdict::Failed(reason) | Verdict::Dead(reason)) => {
                Some((running.pair.to, reason))
            }
            (None, Verdict::Ok) => None,
        })
    }

    fn is_ready(&self) -> bool {
        let joining = |running: &Running| {
            running.head.states().nth(SINK.index()) == Some(&NodeState::Joining)
        };
        !self.copies.iter().any(joining)
    }

    fn is_finished(&self) -> bool {
        self.copies.iter().all(|running| running.finished)
    }
}

/// Runs all copies of `round`. A round without progress for `patience` has failed.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn run(
    agents: &mut Agents,
    round: &mut BalanceRound<'_>,
    patience: Duration,
    interrupts: Option<&Interrupts>,
) -> io::Result<PairEnd> {
    let mut began = false;
    let mut interrupted = false;
    round.open(agents);
    while !round.is_finished() {
        if !began && round.is_ready() && round.fault.is_none() {
            began = true;
            round.go(agents);
        }
        listen(agents, round, interrupts)?;
        if !interrupted && interrupts.is_some_and(Interrupts::pending) {
            interrupted = true;
            let now = clock::now_ns();
            round.copies.iter_mut().for_each(|one| one.head.handle(now, HeadEvent::Interrupted));
        }
        round.tick(agents, patience);
        round.execute_orders(agents, began);
    }
    let end = match round.fault.take() {
        _ if interrupted => PairEnd::Interrupted,
        Some((node, reason)) => PairEnd::Failed(node, reason),
        None => PairEnd::Done,
    };
    close(agents, round, began)?;
    Ok(end)
}

/// Closes the copies on all agents, feeders first, which report the statistics of their
/// connections.
fn close(agents: &mut Agents, round: &mut BalanceRound<'_>, began: bool) -> io::Result<()> {
    for running in &mut round.copies {
        running.ended |= !began || !agents.has(running.pair.from);
        if !running.ended {
            let end = ToAgent::Balance(BalanceOrder::End(running.copy));
            agents.send(running.pair.from, &end);
        }
    }
    wait_for(agents, round, |running, agents| running.ended || agents.is_gone(running.pair.from))?;
    for running in &round.copies {
        agents.send(running.pair.to, &ToAgent::Close(running.copy));
    }
    wait_for(agents, round, |running, agents| running.closed || agents.is_gone(running.pair.to))
}

fn wait_for(
    agents: &mut Agents,
    round: &mut BalanceRound<'_>,
    is_over: fn(&Running, &Agents) -> bool,
) -> io::Result<()> {
    let deadline_ns = clock::now_ns() + CLOSING_NS;
    while !round.copies.iter().all(|running| is_over(running, agents))
        && clock::now_ns() < deadline_ns
    {
        listen(agents, round, None)?;
    }
    Ok(())
}

fn listen(
    agents: &mut Agents,
    round: &mut BalanceRound<'_>,
    interrupts: Option<&Interrupts>,
) -> io::Result<()> {
    for (node, event) in agents.wait(interrupts.map(AsFd::as_fd), TURN)? {
        round.handle(node, &event);
    }
    Ok(())
}
