//! One copy of a round: its head state machine, and the messages of its feeder and its sink.

use garland_core::plan::{HEAD, NodeId, Plan};

use super::super::interface::{AgentEvent, Orders};
use super::job::{CopyPair, RoundJob};
use crate::copy::{
    Begin, CopyId, Destination, DigestKey, End, Head, HeadEvent, HeadOrder, LinkMaster,
    NodeAddress, NodeState, Policy, ReadBack, Report, Route, SlowNodes, Verdict,
};
use crate::measure::{BalanceEvent, BalanceOrder, DiskCached, FeedEvent, TxStats};
use crate::wire::Secret;
use crate::{FromAgent, ToAgent};

/// The id of the sink in a plan of two nodes.
const SINK: NodeId = NodeId(1);

/// The random values of one copy.
#[derive(Debug)]
pub struct CopyKeys {
    /// The id of the copy.
    pub copy: CopyId,
    /// The secret that both nodes share.
    pub secret: Secret,
    /// The secret with which the feeder signs digests.
    pub signing: Secret,
    /// The secret from which those of the copy's links derive.
    pub links: Secret,
}

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
    pair: CopyPair,
    copy: CopyId,
    secret: Secret,
    /// The key with which the feeder signs digests.
    digest_key: DigestKey,
    links: LinkMaster,
    /// The plan: one hop from the feeder to the sink.
    plan: Plan,
    /// The state machine that makes the decisions of the copy.
    head: Head,
    /// Whether the state machine has given its verdict.
    finished: bool,
    /// Why the feeder failed; `None` if it has not.
    fault: Option<String>,
    /// The outcome so far.
    outcome: PairOutcome,
    /// Whether the feeder has read the whole source.
    is_read: bool,
    /// The largest number of blocks that the sink had by its reports.
    held: u64,
    /// The time at which the feeder started, in monotonic nanoseconds; `None` before it starts.
    began_ns: Option<u64>,
    /// Whether the feeder has closed the copy, or its agent is lost.
    ended: bool,
    /// Whether the sink has closed the copy, or its agent is lost.
    closed: bool,
}

impl Running {
    /// Creates a copy of `job` that has not begun; `names` and `addresses` are those of all nodes.
    pub fn new(
        pair: CopyPair,
        keys: CopyKeys,
        job: &RoundJob,
        names: &[String],
        addresses: &[NodeAddress],
        now: u64,
    ) -> Self {
        let to = &addresses[pair.to];
        // A local copy has one lane.
        let rails = if pair.is_remote() { to.len().clamp(1, 64) } else { 1 };
        let rails = u16::try_from(rails).unwrap_or(1);
        let plan = Plan::between(job.layout, &names[pair.from], &names[pair.to], rails)
            .expect("a hop has an end, and 1 to 64 rails");
        let policy = Policy::for_nodes(1).with_slow(SlowNodes::Wait, 0);
        let mut head = Head::new(keys.copy, &plan, vec![Vec::new(), to.clone()], policy, now);
        head.handle(now, HeadEvent::Begin);
        Self {
            pair,
            copy: keys.copy,
            secret: keys.secret,
            digest_key: DigestKey::Sign(keys.signing),
            links: LinkMaster::new(keys.links),
            plan,
            head,
            finished: false,
            fault: None,
            outcome: PairOutcome::default(),
            is_read: false,
            held: 0,
            began_ns: None,
            ended: false,
            closed: false,
        }
    }

    /// Returns the source and destination nodes.
    pub fn pair(&self) -> CopyPair {
        self.pair
    }

    /// Returns the outcome so far.
    pub fn into_outcome(self) -> PairOutcome {
        self.outcome
    }

    /// Opens the destination; nothing is read before the feeder starts.
    pub fn open(&self, job: &RoundJob, orders: &mut Orders) {
        orders.send(self.pair.to, ToAgent::Begin(Box::new(self.begin(job, SINK))));
    }

    /// Returns whether the destination is open, or will never be.
    pub fn is_ready(&self) -> bool {
        self.head.states().nth(SINK.index()) != Some(&NodeState::Joining)
    }

    /// Starts the feeder, and begins to measure the time.
    pub fn feed(&mut self, now: u64, job: &RoundJob, orders: &mut Orders) {
        self.began_ns = Some(now);
        let begin = Box::new(self.begin(job, HEAD));
        orders.send(self.pair.from, ToAgent::Balance(BalanceOrder::Feed(begin)));
    }

    /// Returns whether the feeder has started.
    pub fn has_begun(&self) -> bool {
        self.began_ns.is_some()
    }

    /// Returns a route with the secrets of its links.
    fn complete(&self, route: Route) -> Route {
        self.links.complete(self.copy, route)
    }

    fn begin(&self, job: &RoundJob, me: NodeId) -> Begin {
        let signs = || self.digest_key.clone();
        let checks = || self.digest_key.to_public();
        Begin {
            copy: self.copy,
            secret: self.secret.clone(),
            digest_key: if me == HEAD { signs() } else { checks() },
            sealed: job.sealed,
            layout: self.plan.layout,
            lanes: self.plan.lanes.iter().map(|lane| lane.blocks).collect(),
            me,
            end: End::Sink(Destination::Scratch { path: job.path.clone(), fsync: job.fsync }),
            stripe: None,
            known: None,
            buffers: 0,
            acknowledge: false,
            routes: self.head.routes(me).into_iter().map(|route| self.complete(route)).collect(),
            congestion: job.congestion.clone(),
            mptcp: job.mptcp && self.pair.is_remote(),
            pace: 0,
            read_back: ReadBack::default(),
            // The round itself measures the resources.
            trace: 0,
            absence_max: 0,
            injections: Vec::new(),
        }
    }

    /// Returns whether the copy has ended: its state machine has given its verdict.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns the index of the node that made the copy fail, and the reason; `None` if the copy
    /// has not ended, or was completed. A feeder that failed is at fault, whatever its sink says.
    pub fn fault(&self) -> Option<(usize, String)> {
        if !self.finished {
            return None;
        }
        match (&self.fault, self.head.verdict(SINK)?) {
            (Some(reason), _) => Some((self.pair.from, reason.clone())),
            (None, Verdict::Ok) => None,
            (None, Verdict::Failed(reason) | Verdict::Dead(reason) | Verdict::Unknown(reason)) => {
                Some((self.pair.to, reason))
            }
        }
    }

    /// Ends the copy unless it has ended: the user interrupted, or the round has failed.
    pub fn interrupt(&mut self, now: u64) {
        self.head.handle(now, HeadEvent::Interrupted);
    }

    /// Tells the state machine that its deadline has passed, if it has.
    pub fn tick(&mut self, now: u64) {
        if self.head.deadline().is_some_and(|at| at <= now) {
            self.head.handle(now, HeadEvent::Tick);
        }
    }

    /// Handles an event of the node with this index. Returns whether the copy made progress.
    pub fn handle(&mut self, now: u64, node: usize, event: &AgentEvent) -> bool {
        let moved = match event {
            AgentEvent::Lost(reason) => {
                self.ended |= node == self.pair.from;
                self.closed |= node == self.pair.to;
                if node == self.pair.from && !self.finished {
                    self.lose_feeder(now, reason);
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
        };
        if self.outcome.took_ns.is_none() && self.head.verdict(SINK) == Some(Verdict::Ok) {
            self.outcome.took_ns = self.began_ns.map(|began_ns| now - began_ns);
        }
        moved
    }

    /// Ends the copy: its feeder, which reads the source, has failed.
    fn lose_feeder(&mut self, now: u64, reason: &str) {
        self.fault.get_or_insert_with(|| reason.to_owned());
        self.head.handle(now, HeadEvent::SourceFailed(reason.to_owned()));
    }

    /// Handles an event of the feeder. Returns whether the copy made progress.
    fn handle_feeder(&mut self, now: u64, event: &BalanceEvent) -> bool {
        let event = match event {
            BalanceEvent::Fed(copy, event) if *copy == self.copy => event,
            BalanceEvent::Failed(reason) if !self.finished => {
                self.lose_feeder(now, reason);
                return false;
            }
            _ => return false,
        };
        // What can be said again and again is no progress.
        match event {
            FeedEvent::Read(root) => {
                self.head.handle(now, HeadEvent::SourceRead(*root));
                !std::mem::replace(&mut self.is_read, true)
            }
            FeedEvent::LinkLost(lane, epoch, reason) => {
                self.head.handle(now, HeadEvent::LinkLost(*lane, *epoch, reason.clone()));
                false
            }
            FeedEvent::BadFrame(lane, epoch) => {
                self.head.handle(now, HeadEvent::BadFrame(*lane, *epoch));
                false
            }
            FeedEvent::Failed(reason) => {
                self.lose_feeder(now, reason);
                false
            }
            FeedEvent::Ended(lanes) => {
                self.outcome.lanes.clone_from(lanes);
                !std::mem::replace(&mut self.ended, true)
            }
        }
    }

    /// Handles a message of the sink. Returns whether the copy made progress.
    fn handle_sink(&mut self, now: u64, message: &FromAgent) -> bool {
        let was_ready = self.is_ready();
        let was_judged = self.head.verdict(SINK).is_some();
        let mut has_moved = false;
        match message {
            FromAgent::Heartbeat(reports) => {
                let its = reports.iter().find(|(copy, _)| *copy == self.copy);
                let held = its.map_or(0, |(_, report)| report.held);
                if held > self.held {
                    self.held = held;
                    has_moved = true;
                }
            }
            FromAgent::Closed(copy) => self.closed |= *copy == self.copy,
            FromAgent::Busy(copy, copies) if *copy == self.copy => {
                let reason = format!("its agent has no free memory: {copies} other copies use it");
                self.head.handle(now, HeadEvent::Unavailable(SINK, reason));
                return false;
            }
            FromAgent::Committed(copy, report) if *copy == self.copy => {
                self.outcome.report.clone_from(report);
            }
            _ => {}
        }
        self.head.handle(now, HeadEvent::From(SINK, message.clone()));
        // A sink that says anything would hold up the round otherwise.
        has_moved || was_ready != self.is_ready() || was_judged != self.head.verdict(SINK).is_some()
    }

    /// Executes the orders of the state machine.
    pub fn execute_orders(&mut self, orders: &mut Orders) {
        while let Some(order) = self.head.poll() {
            match order {
                HeadOrder::Send(_, ToAgent::Route(copy, route)) => {
                    orders.send(self.pair.to, ToAgent::Route(copy, self.complete(route)));
                }
                HeadOrder::Send(_, message) => orders.send(self.pair.to, message),
                // Before the copy begins, the order to begin contains the route.
                HeadOrder::Route(route) if self.has_begun() => {
                    let order = BalanceOrder::Route(self.copy, self.complete(route));
                    orders.send(self.pair.from, ToAgent::Balance(order));
                }
                // The round gives the order to begin, and the head has no file of its own.
                HeadOrder::Route(_)
                | HeadOrder::Start
                | HeadOrder::Begin(_)
                | HeadOrder::Queue(_)
                | HeadOrder::BeginAgain
                | HeadOrder::Attach(_)
                | HeadOrder::Commit => {}
                HeadOrder::Finished => self.finished = true,
            }
        }
    }

    /// Closes the copy on its feeder, unless the feeder never started, has closed it, or is lost.
    pub fn close_feeder(&self, orders: &mut Orders) {
        if !self.feeder_has_closed() {
            orders.send(self.pair.from, ToAgent::Balance(BalanceOrder::End(self.copy)));
        }
    }

    /// Closes the copy on its sink.
    pub fn close_sink(&self, orders: &mut Orders) {
        orders.send(self.pair.to, ToAgent::Close(self.copy));
    }

    /// Returns whether the feeder has closed the copy, was never started, or is lost.
    pub fn feeder_has_closed(&self) -> bool {
        self.ended || !self.has_begun()
    }

    /// Returns whether the sink has closed the copy, or is lost.
    pub fn sink_has_closed(&self) -> bool {
        self.closed
    }
}
