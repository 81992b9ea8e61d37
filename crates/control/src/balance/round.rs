//! A round: copies that start at the same time, each with its own head state machine.

use std::collections::BTreeSet;
use std::time::Duration;

use garland_core::plan::{HEAD, NodeId};
use garland_protocol::{
    BalanceOrder, Begin, Destination, End, HeadEvent, NodeAddress, NodeState, ReadBack, ToAgent,
    Verdict,
};
use garland_sys::mptcp::Transport;

use super::job::{CopyPair, RoundJob};
use super::pair::{PairOutcome, Running, SINK};
use crate::agent_set::AgentEvent;
use crate::probe::PairEnd;
use crate::session::{Operation, Orders};

/// Timeout for agents to close their copies, in nanoseconds.
const CLOSING_NS: u64 = 10_000_000_000;

/// The copies of a round. The round is over when all copies have ended and both nodes of each have
/// closed it.
pub struct BalanceRound<'a> {
    job: &'a RoundJob,
    copies: Vec<Running>,
    phase: Phase,
    /// The maximum time without progress of any copy.
    patience: Duration,
    /// The time at which the feeders started, in monotonic nanoseconds; `None` before they start.
    began_ns: Option<u64>,
    /// The last time at which any copy made progress, in monotonic nanoseconds.
    moved_ns: u64,
    /// The index of the node that failed first, and why.
    fault: Option<(usize, String)>,
    /// Indexes of nodes whose agent is dead or silent.
    gone: BTreeSet<usize>,
    interrupted: bool,
}

/// The phases of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No order has been sent.
    New,
    /// The destinations are being opened; the copies run once all are open.
    Copying,
    /// The feeders close their copies, until this time at most (monotonic nanoseconds). They report
    /// the statistics of their connections.
    ClosingFeeders(u64),
    /// The sinks close their copies, until this time at most (monotonic nanoseconds).
    ClosingSinks(u64),
    Over,
}

impl<'a> BalanceRound<'a> {
    /// Creates the copies of `job`, without starting them. `names` and `addresses` are those of all
    /// nodes. A round without progress for `patience` fails.
    pub fn new(
        job: &'a RoundJob,
        names: &[String],
        addresses: &[NodeAddress],
        patience: Duration,
        now: u64,
    ) -> Self {
        let copy = |pair: &CopyPair| Running::new(*pair, job.layout, names, addresses, now);
        Self {
            job,
            copies: job.errands.iter().map(copy).collect(),
            phase: Phase::New,
            patience,
            began_ns: None,
            moved_ns: now,
            fault: None,
            gone: BTreeSet::new(),
            interrupted: false,
        }
    }

    /// Returns how the round ended, and the outcomes of the copies, in the order of the job.
    pub fn into_end(self) -> (PairEnd, Vec<PairOutcome>) {
        let end = match self.fault {
            _ if self.interrupted => PairEnd::Interrupted,
            Some((node, reason)) => PairEnd::Failed(node, reason),
            None => PairEnd::Done,
        };
        (end, self.copies.into_iter().map(|copy| copy.outcome).collect())
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

    /// Starts all feeders, and begins to measure the time.
    fn go(&mut self, now: u64, orders: &mut Orders) {
        self.began_ns = Some(now);
        for running in &self.copies {
            let begin = Box::new(self.begin_of(running, HEAD));
            orders.send(running.pair.from, ToAgent::Balance(BalanceOrder::Feed(begin)));
        }
    }

    /// Fails all unfinished copies if none has made progress for too long; otherwise tells those
    /// whose deadline has passed.
    fn pass_time(&mut self, now: u64) {
        let quiet_ns = now.saturating_sub(self.moved_ns);
        let hangs = u128::from(quiet_ns) > self.patience.as_nanos();
        for running in self.copies.iter_mut().filter(|running| !running.finished) {
            if hangs {
                let seconds = self.patience.as_secs();
                running.fail(now, format!("no copy of the round made progress for {seconds} s"));
            } else if running.head.deadline().is_some_and(|at| at <= now) {
                running.head.handle(now, HeadEvent::Tick);
            }
        }
    }

    /// Executes the orders of all state machines. If a copy has failed, interrupts the unfinished
    /// ones.
    fn execute_orders(&mut self, now: u64, orders: &mut Orders) {
        let began = self.began_ns.is_some();
        for running in &mut self.copies {
            running.execute_orders(orders, began);
        }
        if self.fault.is_none() {
            self.fault = self.first_fault();
        }
        if self.fault.is_some() {
            for running in self.copies.iter_mut().filter(|running| !running.finished) {
                running.head.handle(now, HeadEvent::Interrupted);
                running.execute_orders(orders, began);
            }
        }
    }

    fn close_feeders(&mut self, now: u64, orders: &mut Orders) {
        self.phase = Phase::ClosingFeeders(now + CLOSING_NS);
        for running in &mut self.copies {
            running.ended |= self.began_ns.is_none();
            if !running.ended {
                let end = BalanceOrder::End(running.copy);
                orders.send(running.pair.from, ToAgent::Balance(end));
            }
        }
    }

    fn close_sinks(&mut self, now: u64, orders: &mut Orders) {
        self.phase = Phase::ClosingSinks(now + CLOSING_NS);
        for running in &self.copies {
            orders.send(running.pair.to, ToAgent::Close(running.copy));
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

    fn feeders_have_closed(&self) -> bool {
        self.copies.iter().all(|one| one.ended || self.gone.contains(&one.pair.from))
    }

    fn sinks_have_closed(&self) -> bool {
        self.copies.iter().all(|one| one.closed || self.gone.contains(&one.pair.to))
    }
}

impl Operation for BalanceRound<'_> {
    /// Opens all destinations; nothing is read before the feeders start.
    fn begin(&mut self, _: u64, orders: &mut Orders) {
        self.phase = Phase::Copying;
        for running in &self.copies {
            let begin = self.begin_of(running, SINK);
            orders.send(running.pair.to, ToAgent::Begin(Box::new(begin)));
        }
    }

    fn handle(&mut self, now: u64, node: usize, event: AgentEvent, _: &mut Orders) {
        if matches!(event, AgentEvent::Lost(_)) {
            self.gone.insert(node);
        }
        for running in &mut self.copies {
            if running.handle(now, node, &event) {
                self.moved_ns = now;
            }
            if running.outcome.took_ns.is_none() && running.verdict() == Some(Verdict::Ok) {
                running.outcome.took_ns = self.began_ns.map(|began_ns| now - began_ns);
            }
        }
    }

    fn tick(&mut self, now: u64, orders: &mut Orders) {
        match self.phase {
            Phase::Copying => {
                if self.began_ns.is_none() && self.is_ready() && self.fault.is_none() {
                    self.go(now, orders);
                }
                self.pass_time(now);
                self.execute_orders(now, orders);
                if self.copies.iter().all(|running| running.finished) {
                    self.close_feeders(now, orders);
                }
            }
            Phase::ClosingFeeders(until) if self.feeders_have_closed() || now >= until => {
                self.close_sinks(now, orders);
            }
            Phase::ClosingSinks(until) if self.sinks_have_closed() || now >= until => {
                self.phase = Phase::Over;
            }
            _ => {}
        }
    }

    /// Interrupts all copies, which are then closed as usual.
    fn interrupt(&mut self, now: u64, _: &mut Orders) -> bool {
        self.interrupted = true;
        self.copies.iter_mut().for_each(|one| one.head.handle(now, HeadEvent::Interrupted));
        self.phase == Phase::New
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }
}

#[cfg(test)]
mod tests;
