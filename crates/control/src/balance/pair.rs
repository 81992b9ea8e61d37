//! One copy of a round: its head machine, and what its feeder and its sink say to it.

use garland_core::plan::{Layout, NodeId, Plan};
use garland_protocol::{
    BalanceEvent, BalanceOrder, CopyId, DigestKey, DiskCached, FeedEvent, FromAgent, Head,
    HeadEvent, HeadOrder, NodeAddress, Policy, Report, Secret, SlowNodes, ToAgent, TxStats,
    Verdict,
};
use garland_sys::random;

use super::ask::{SILENCE_NS, place};
use super::exchange::{CopyPair, Exchange};
use crate::agent_set::AgentEvent;

/// The sink of a copy, whose plan has two nodes.
pub const SINK: NodeId = NodeId(1);

/// How a copy went.
#[derive(Clone, Debug, Default)]
pub struct PairOutcome {
    /// Nanoseconds from the round's beginning until it was done; none if it wasn't.
    pub took_ns: Option<u64>,
    /// What of its file was in the page cache before, where the kernel tells.
    pub cached: Option<DiskCached>,
    /// The kernel's account of its lanes at their end, of their sender, as far as these are TCP.
    pub lanes: Vec<TxStats>,
    /// What the node that got it reported at the end.
    pub report: Report,
}

/// A copy under way.
pub struct Running {
    /// Who copies to whom.
    pub errand: CopyPair,
    /// Its identity.
    pub copy: CopyId,
    /// What its members prove to each other.
    pub secret: Secret,
    /// By which the feeder signs what its blocks contain.
    pub digest_key: DigestKey,
    /// Its lanes.
    pub plan: Plan,
    /// What decides on it.
    pub head: Head,
    /// It has its verdict.
    pub finished: bool,
    /// Why its feeder can't go on.
    pub fault: Option<String>,
    /// How it went.
    pub course: PairOutcome,
    /// Blocks that the sink held when it last said so.
    held: u64,
    /// Nothing is left of it at its feeder.
    pub ended: bool,
    /// Nothing is left of it at its sink.
    pub closed: bool,
}

impl Running {
    /// A copy of `layout` between nodes of these names and addresses, which hasn't begun.
    pub fn new(
        errand: CopyPair,
        layout: Layout,
        names: &[String],
        addresses: &[NodeAddress],
        now: u64,
    ) -> Self {
        let copy = CopyId(random::bytes());
        let to = &addresses[errand.to];
        // One to oneself has no use for several.
        let rails = if errand.is_remote() { to.len().clamp(1, 64) } else { 1 };
        let rails = u16::try_from(rails).unwrap_or(1);
        let plan = Plan::between(layout, &names[errand.from], &names[errand.to], rails)
            .expect("a hop has an end, and 1 to 64 rails");
        let policy = Policy::for_nodes(1).with_slow(SlowNodes::Wait, 0);
        let policy = Policy { silence_ns: SILENCE_NS, ..policy };
        let head = Head::new(copy, &plan, vec![Vec::new(), to.clone()], policy, now);
        Self {
            errand,
            copy,
            secret: Secret(random::bytes()),
            digest_key: DigestKey::Sign(Secret(random::bytes())),
            plan,
            head,
            finished: false,
            fault: None,
            course: PairOutcome::default(),
            held: 0,
            ended: false,
            closed: false,
        }
    }

    /// How it has ended, if it has.
    pub fn verdict(&self) -> Option<Verdict> {
        self.head.verdict(SINK)
    }

    /// Its feeder can't go on.
    pub fn fail(&mut self, now: u64, reason: String) {
        self.fault.get_or_insert_with(|| reason.clone());
        self.head.handle(now, HeadEvent::SourceFailed(reason));
    }

    /// Takes note of what a node said; whether the copy got on.
    pub fn hear(&mut self, now: u64, node: usize, call: &AgentEvent) -> bool {
        match call {
            AgentEvent::Lost(reason) => {
                if node == self.errand.from && !self.finished {
                    self.fail(now, reason.clone());
                }
                if node == self.errand.to {
                    self.head.handle(now, HeadEvent::Lost(SINK, reason.clone()));
                }
                false
            }
            AgentEvent::Message(FromAgent::Balance(event)) => {
                node == self.errand.from && self.fed(now, event)
            }
            AgentEvent::Message(message) if node == self.errand.to => self.sunk(now, message),
            AgentEvent::Message(_) => false,
        }
    }

    /// News from the feeder.
    fn fed(&mut self, now: u64, event: &BalanceEvent) -> bool {
        let event = match event {
            BalanceEvent::Fed(copy, event) if *copy == self.copy => event,
            BalanceEvent::Failed(reason) if !self.finished => {
                self.fail(now, reason.clone());
                return false;
            }
            _ => return false,
        };
        match event {
            FeedEvent::Read(root) => self.head.handle(now, HeadEvent::SourceRead(*root)),
            FeedEvent::LinkLost(lane, epoch, reason) => {
                self.head.handle(now, HeadEvent::LinkLost(*lane, *epoch, reason.clone()));
            }
            FeedEvent::BadFrame(lane, epoch) => {
                self.head.handle(now, HeadEvent::BadFrame(*lane, *epoch));
            }
            FeedEvent::Failed(reason) => self.fail(now, reason.clone()),
            FeedEvent::Ended(lanes) => {
                self.course.lanes.clone_from(lanes);
                self.ended = true;
            }
        }
        true
    }

    /// News from the sink.
    fn sunk(&mut self, now: u64, message: &FromAgent) -> bool {
        let moved = match message {
            FromAgent::Heartbeat(Some(report)) => {
                report.held > std::mem::replace(&mut self.held, report.held)
            }
            FromAgent::Closed(copy) => {
                self.closed |= *copy == self.copy;
                false
            }
            FromAgent::Busy(copy, copies) if *copy == self.copy => {
                let reason = format!("its agent's memory is taken by {copies} other copies");
                let failed = FromAgent::Failed(self.copy, reason);
                self.head.handle(now, HeadEvent::From(SINK, failed));
                return false;
            }
            FromAgent::Committed(copy, report) if *copy == self.copy => {
                self.course.report.clone_from(report);
                true
            }
            FromAgent::Heartbeat(None) => false,
            _ => true,
        };
        self.head.handle(now, HeadEvent::From(SINK, message.clone()));
        moved
    }

    /// Sends what the machine orders; the first hop's changes only once the copy `began`.
    pub fn obey(&mut self, exchange: &mut Exchange, began: bool) {
        while let Some(order) = self.head.poll() {
            match order {
                HeadOrder::Send(_, message) => exchange.board.send(place(self.errand.to), &message),
                // Before that, its beginning tells all.
                HeadOrder::Route(route) if began => {
                    let order = ToAgent::Balance(BalanceOrder::Route(self.copy, route));
                    exchange.board.send(place(self.errand.from), &order);
                }
                HeadOrder::Route(_) => {}
                HeadOrder::Finished => self.finished = true,
            }
        }
    }
}
