//! A round: copies that start at the same time, each with its own head state machine.

use std::time::Duration;

use super::super::interface::{AgentEvent, Operation, Orders};
use super::super::meetings::PairEnd;
use super::job::RoundJob;
use super::pair::{CopyKeys, PairOutcome, Running};
use super::queries::patience;
use crate::copy::NodeAddress;

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
    /// The last time at which any copy made progress, in monotonic nanoseconds.
    moved_ns: u64,
    /// The index of the node that failed first, and why.
    fault: Option<(usize, String)>,
    interrupted: bool,
}

/// The phases of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No order has been sent.
    New,
    /// The destinations are being opened.
    Opening,
    /// The feeders have started.
    Copying,
    /// The feeders close their copies, until this time at most (monotonic nanoseconds). They report
    /// the statistics of their connections.
    ClosingFeeders(u64),
    /// The sinks close their copies, until this time at most (monotonic nanoseconds).
    ClosingSinks(u64),
    Over,
}

impl<'a> BalanceRound<'a> {
    /// Creates the copies of `job`, without starting them. `keys` are those of each copy; `names`
    /// and `addresses` are those of all nodes.
    #[must_use]
    pub fn new(
        job: &'a RoundJob,
        keys: impl IntoIterator<Item = CopyKeys>,
        names: &[String],
        addresses: &[NodeAddress],
        now: u64,
    ) -> Self {
        let pairs = job.errands.iter().zip(keys);
        let copies =
            pairs.map(|(pair, keys)| Running::new(*pair, keys, job, names, addresses, now));
        Self {
            job,
            copies: copies.collect(),
            phase: Phase::New,
            patience: patience(job.layout.length),
            moved_ns: now,
            fault: None,
            interrupted: false,
        }
    }

    /// Returns how the round ended, and the outcomes of the copies, in the order of the job.
    #[must_use]
    pub fn into_end(self) -> (PairEnd, Vec<PairOutcome>) {
        let end = match self.fault {
            _ if self.interrupted => PairEnd::Interrupted,
            Some((node, reason)) => PairEnd::Failed(node, reason),
            None => PairEnd::Done,
        };
        (end, self.copies.into_iter().map(Running::into_outcome).collect())
    }

    /// Tells the unfinished copies the time. If none has made progress for too long, the round has
    /// failed: the feeder of the first unfinished copy is at fault.
    fn pass_time(&mut self, now: u64) {
        let quiet_ns = now.saturating_sub(self.moved_ns);
        let mut unfinished = self.copies.iter_mut().filter(|copy| !copy.is_finished());
        if u128::from(quiet_ns) <= self.patience.as_nanos() {
            unfinished.for_each(|copy| copy.tick(now));
        } else if let Some(stuck) = unfinished.next() {
            let seconds = self.patience.as_secs();
            let reason = format!("no copy of the round made progress for {seconds} s");
            self.fault.get_or_insert((stuck.pair().from, reason));
        }
    }

    /// Executes the orders of all state machines. If the round has failed, interrupts the
    /// unfinished copies.
    fn execute_orders(&mut self, now: u64, orders: &mut Orders) {
        self.copies.iter_mut().for_each(|copy| copy.execute_orders(orders));
        if self.fault.is_none() {
            self.fault = self.copies.iter().find_map(Running::fault);
        }
        if self.fault.is_some() {
            for copy in self.copies.iter_mut().filter(|copy| !copy.is_finished()) {
                copy.interrupt(now);
                copy.execute_orders(orders);
            }
        }
    }
}

impl Operation for BalanceRound<'_> {
    /// Opens all destinations; nothing is read before the feeders start.
    fn begin(&mut self, _: u64, orders: &mut Orders) {
        self.phase = Phase::Opening;
        self.copies.iter().for_each(|copy| copy.open(self.job, orders));
    }

    fn handle(&mut self, now: u64, node: usize, event: AgentEvent, _: &mut Orders) {
        for copy in &mut self.copies {
            if copy.handle(now, node, &event) {
                self.moved_ns = now;
            }
        }
    }

    fn tick(&mut self, now: u64, orders: &mut Orders) {
        let all = |holds: fn(&Running) -> bool| self.copies.iter().all(holds);
        match self.phase {
            Phase::Opening | Phase::Copying => {
                let is_ready = self.fault.is_none() && all(Running::is_ready);
                if self.phase == Phase::Opening && is_ready {
                    self.phase = Phase::Copying;
                    self.copies.iter_mut().for_each(|copy| copy.feed(now, self.job, orders));
                }
                self.pass_time(now);
                self.execute_orders(now, orders);
                if self.copies.iter().all(Running::is_finished) {
                    self.phase = Phase::ClosingFeeders(now + CLOSING_NS);
                    self.copies.iter().for_each(|copy| copy.close_feeder(orders));
                }
            }
            Phase::ClosingFeeders(until) if all(Running::feeder_has_closed) || now >= until => {
                self.phase = Phase::ClosingSinks(now + CLOSING_NS);
                self.copies.iter().for_each(|copy| copy.close_sink(orders));
            }
            Phase::ClosingSinks(until) if all(Running::sink_has_closed) || now >= until => {
                self.phase = Phase::Over;
            }
            _ => {}
        }
    }

    /// Interrupts all copies, which are then closed as usual.
    fn interrupt(&mut self, now: u64, _: &mut Orders) -> bool {
        self.interrupted = true;
        self.copies.iter_mut().for_each(|copy| copy.interrupt(now));
        self.phase == Phase::New
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }
}

#[cfg(test)]
mod tests;
