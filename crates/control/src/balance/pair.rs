//! One copy of a round: its head state machine, and the messages of its feeder and its sink.

use garland_core::plan::{Layout, NodeId, Plan};
use garland_protocol::{
    BalanceEvent, BalanceOrder, CopyId, DigestKey, DiskCached, FeedEvent, FromAgent, Head,
    HeadEvent, HeadOrder, NodeAddress, Policy, Report, Secret, SlowNodes, ToAgent, TxStats,
    Verdict,
};
use garland_sys::random;

use super::job::CopyPair;
use crate::agent_set::AgentEvent;
use crate::session::Orders;
use crate::silence::SILENCE_NS;

/// The id of the sink in a plan of two nodes.
pub const SINK: NodeId = NodeId(1);

/// The outcome of a copy.
#[derive(Clone, Debug, Default)]
pub struct PairOutcome {
    /// The time from the beginning of the round to the end of the copy, in nanoseconds; `None` if
    /// the copy failed.
    pub took_ns: Option<u64>,
    /// The part of the source file that was in the page cache before the copy, if the kernel
    /// reports it.
    pub cached: Option<DiskCached>,
    /// The TCP statistics of the copy's lanes at their end, from the sender; empty over MPTCP.
    pub lanes: Vec<TxStats>,
    /// The last report of the receiving node.
    pub report: Report,
}

/// A copy that is running.
pub struct Running {
    /// The source and destination nodes.
    pub pair: CopyPair,
    /// The id of the copy.
    pub copy: CopyId,
    /// The secret that both nodes share.
    pub secret: Secret,
    /// The key with which the feeder signs digests.
    pub digest_key: DigestKey,
    /// The plan: one hop from the feeder to the sink.
    pub plan: Plan,
    /// The state machine that makes the decisions of the copy.
    pub head: Head,
    /// Whether the state machine has given its verdict.
    pub finished: bool,
    /// Why the feeder failed; `None` if it has not.
    pub fault: Option<String>,
    /// The outcome so far.
    pub outcome: PairOutcome,
    /// The number of blocks that the sink had at its last report.
    held: u64,
    /// Whether the feeder has closed the copy, or was never started.
    pub ended: bool,
    /// Whether the sink has closed the copy.
    pub closed: bool,
}

impl Running {
    /// Creates a copy of `layout` that has not begun; `names` and `addresses` are those of all
    /// nodes.
    pub fn new(
        pair: CopyPair,
        layout: Layout,
        names: &[String],
        addresses: &[NodeAddress],
        now: u64,
    ) -> Self {
        let copy = CopyId(random::bytes());
        let to = &addresses[pair.to];
        // A local copy has one lane.
        let rails = if pair.is_remote() { to.len().clamp(1, 64) } else { 1 };
        let rails = u16::try_from(rails).unwrap_or(1);
        let plan = Plan::between(layout, &names[pair.from], &names[pair.to], rails)
            .expect("a hop has an end, and 1 to 64 rails");
        let policy = Policy::for_nodes(1).with_slow(SlowNodes::Wait, 0);
        let policy = policy.with_dead_after(SILENCE_NS);
        let mut head = Head::new(copy, &plan, vec![Vec::new(), to.clone()], policy, now);
        head.handle(now, HeadEvent::Begin);
        Self {
            pair,
            copy,
            secret: Secret(random::bytes()),
            digest_key: DigestKey::Sign(Secret(random::bytes())),
            plan,
            head,
            finished: false,
            fault: None,
            outcome: PairOutcome::default(),
            held: 0,
            ended: false,
            closed: false,
        }
    }

    /// Returns the sink's verdict; `None` before the copy has ended.
    pub fn verdict(&self) -> Option<Verdict> {
        self.head.verdict(SINK)
    }

    /// Ends the copy because its feeder has failed.
    pub fn fail(&mut self, now: u64, reason: String) {
        self.fault.get_or_insert_with(|| reason.clone());
        self.head.handle(now, HeadEvent::SourceFailed(reason));
    }

    /// Handles an event of the node with this index. Returns whether the copy made progress.
    pub fn handle(&mut self, now: u64, node: usize, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::Lost(reason) => {
                if node == self.pair.from && !self.finished {
                    self.fail(now, reason.clone());
                }
                if node == self.pair.to {
                    self.head.handle(now, HeadEvent::Lost(SINK, reason.clone()));
                }
                false
            }
            AgentEvent::Message(FromAgent::Balance(event)) => {
                node == self.pair.from && self.handle_feeder(now, event)
            }
            AgentEvent::Message(message) if node == self.pair.to => self.handle_sink(now, message),
            AgentEvent::Message(_) => false,
        }
    }

    /// Handles an event of the feeder. Returns whether the copy made progress.
    fn handle_feeder(&mut self, now: u64, event: &BalanceEvent) -> bool {
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
                self.outcome.lanes.clone_from(lanes);
                self.ended = true;
            }
        }
        true
    }

    /// Handles a message of the sink. Returns whether the copy made progress.
    fn handle_sink(&mut self, now: u64, message: &FromAgent) -> bool {
        let moved = match message {
            FromAgent::Heartbeat(reports) => {
                let its = reports.iter().find(|(copy, _)| *copy == self.copy);
                its.is_some_and(|(_, report)| {
                    report.held > std::mem::replace(&mut self.held, report.held)
                })
            }
            FromAgent::Closed(copy) => {
                self.closed |= *copy == self.copy;
                false
            }
            FromAgent::Busy(copy, copies) if *copy == self.copy => {
                let reason = format!("its agent has no free memory: {copies} other copies use it");
                self.head.handle(now, HeadEvent::Unavailable(SINK, reason));
                return false;
            }
            FromAgent::Committed(copy, report) if *copy == self.copy => {
                self.outcome.report.clone_from(report);
                true
            }
            _ => true,
        };
        self.head.handle(now, HeadEvent::From(SINK, message.clone()));
        moved
    }

    /// Executes the orders of the state machine. Sends routes to the feeder only if the copy has
    /// begun (`began`).
    pub fn execute_orders(&mut self, orders: &mut Orders, began: bool) {
        while let Some(order) = self.head.poll() {
            match order {
                HeadOrder::Send(_, message) => orders.send(self.pair.to, message),
                // Before the copy begins, the order to begin contains the route.
                HeadOrder::Route(route) if began => {
                    let order = BalanceOrder::Route(self.copy, route);
                    orders.send(self.pair.from, ToAgent::Balance(order));
                }
                // The round gives the order to begin, and the head has no file of its own.
                HeadOrder::Route(_)
                | HeadOrder::Start
                | HeadOrder::Begin(_)
                | HeadOrder::Queue(_)
                | HeadOrder::BeginAgain
                | HeadOrder::Commit => {}
                HeadOrder::Finished => self.finished = true,
            }
        }
    }
}
