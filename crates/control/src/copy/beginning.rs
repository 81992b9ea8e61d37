//! The beginning of a copy: immediate, or after all busy agents have granted memory.

use garland_core::plan::{HEAD, NodeId};
use garland_core::trace::{Exchange, Stage};
use garland_protocol::{Begin, End, FromAgent, HeadEvent, HeadOrder, ToAgent, root_digest};
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;

use super::{Agent, CopyNode, Driver, Ends, QUIET_NS};
use crate::agents::gone;
use crate::outcome::NodeOutcome;
use crate::queue::{Queue, Step};
use garland_dataplane::context::CopyContext;
use garland_dataplane::lanes;
use garland_dataplane::recorder::{At, Budget};

impl Driver<'_> {
    /// Starts the threads of the head's lanes.
    pub(super) fn start_lanes(&mut self) -> std::io::Result<()> {
        let blocks: Vec<_> = self.job.plan.lanes.iter().map(|lane| lane.blocks).collect();
        let source = match &self.job.ends {
            Ends::Out { source, .. } => Some(source),
            Ends::In { .. } => None,
        };
        self.threads = lanes::start(&self.context, &blocks, |_| true, source)?;
        Ok(())
    }

    /// Sends every node the order to begin, with the node's current route.
    pub(super) fn begin(&mut self) -> std::io::Result<()> {
        self.start_lanes()?;
        self.drop_orders();
        if let Some(tracing) = self.job.tracing {
            // Set-up ends where the wait for busy agents begins.
            let end_ns = self.moments.waited.map_or_else(clock::now_ns, |(since, _)| since);
            self.context.config.trace.note(At::HERE.span(Stage::SetUp, tracing.started_ns, end_ns));
        }
        for id in self.agents.ids() {
            let begin = self.begin_of(id);
            self.nodes[id.index()].started = self.agents.has(id);
            self.exchanges.asked(id, Exchange::Begin, &self.context.config.trace);
            self.agents.send(id, &ToAgent::Begin(Box::new(begin)));
        }
        self.head.routes(HEAD).into_iter().for_each(|route| self.context.route(route));
        self.context.sample_now();
        self.begin_clock_probes();
        // If there are no nodes, this tick ends the copy.
        self.head.handle(clock::now_ns(), HeadEvent::Tick);
        self.execute_orders();
        self.note_moments();
        Ok(())
    }

    /// Returns the order to begin for a node.
    pub(super) fn begin_of(&self, id: NodeId) -> Begin {
        let job = self.job;
        let place = id.index() - 1;
        let end = match &job.ends {
            Ends::Out { destination, .. } => End::Sink(destination.clone()),
            Ends::In { origins, .. } => End::Source(origins[place].clone()),
        };
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        Begin {
            copy: self.copy,
            secret: self.secret.clone(),
            digest_key: match &end {
                End::Sink(_) => self.digest_key.to_public(),
                End::Source(_) => self.digest_key.clone(),
            },
            sealed: job.sealed,
            layout: job.plan.layout,
            lanes: job.plan.lanes.iter().map(|lane| lane.blocks).collect(),
            me: id,
            end,
            stripe: job.stripes.map(|stripes| stripes.stripe(number)),
            known: job.known.as_ref().map(|digests| root_digest(digests)),
            buffers: job.pipeline.buffers.unwrap_or(0),
            acknowledge: job.pipeline.cut.is_some(),
            routes: self.head.routes(id),
            congestion: job.congestion.clone(),
            mptcp: job.transport == Transport::Mptcp,
            pace: job.pipeline.pace,
            read_back: self.read_back_of_nodes(),
            trace: Budget::of_node(job.plan, job.tracing),
            injections: job.injections_at(id),
        }
    }

    /// Discards the orders of the state machine before the copy begins: the order to begin contains
    /// the current state.
    pub(super) fn drop_orders(&mut self) {
        while let Some(order) = self.head.poll() {
            self.finished |= matches!(order, HeadOrder::Finished);
        }
    }

    /// Releases all memory that agents have reserved, and begins a new attempt, which queues for
    /// memory. Nodes that have ended are left out.
    pub(super) fn queue_up(mut self, interrupts: Option<&Interrupts>) -> std::io::Result<Self> {
        let since = self.moments.waiting.unwrap_or_else(clock::now_ns);
        self.close_agents(interrupts);
        if self.interrupted {
            self.finished = true;
            return Ok(self);
        }
        for id in self.agents.ids().filter(|id| self.is_open_at(*id)).collect::<Vec<_>>() {
            let event = if self.is_silent(id) {
                HeadEvent::Lost(
                    id,
                    format!("no message from its agent for {} ms", QUIET_NS / 1_000_000),
                )
            } else {
                let reason = "its agent did not release its memory".to_owned();
                HeadEvent::From(id, FromAgent::Failed(self.copy, reason))
            };
            self.head.handle(clock::now_ns(), event);
        }
        let ended: Vec<_> = self.job.plan.receivers().map(|(id, _)| self.outcome_of(id)).collect();
        let remaining = self.agents.ids().filter(|id| ended[id.index() - 1].is_none());
        let key = |id| Some((self.agents.connection(id)?.key(), id));
        let queue = Queue::new(remaining.filter_map(key).collect(), self.busy);
        let agents = self.agents.into_connections().zip(self.nodes.into_iter().skip(1)).zip(ended);
        let receivers = agents.zip(self.job.plan.receivers());
        let receivers =
            receivers.map(|(((connection, CopyNode { addresses, .. }), ended), (_, node))| {
                let gone = || Box::new(NodeOutcome::failed(&node.name, gone()));
                match ended {
                    Some(outcome) => Err(Box::new(outcome)),
                    None => Ok(Agent { connection: connection.ok_or_else(gone)?, addresses }),
                }
            });
        let mut next = Self::new(self.job, receivers.collect())?;
        next.queue = Some(queue);
        next.moments.waiting = Some(since);
        Ok(next)
    }

    /// Requests memory of the next agent, or begins the copy if all have granted it.
    pub(super) fn advance(&mut self) -> std::io::Result<()> {
        self.drop_orders();
        let Some(queue) = &mut self.queue else { return Ok(()) };
        for id in self.agents.ids().filter(|&id| self.head.verdict(id).is_some()) {
            queue.settle(id);
        }
        match queue.step() {
            Step::Wait => {}
            Step::Ask(id) => {
                let plan = self.job.plan;
                let lanes = plan.lanes_of(id);
                let bytes = CopyContext::memory(plan.layout, lanes, self.job.pipeline.buffers);
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                self.exchanges.asked(id, Exchange::Queue, &self.context.config.trace);
                self.agents.send(id, &ToAgent::Queue(self.copy, bytes));
            }
            Step::Through => {
                self.queue = None;
                let since = self.moments.waiting.take();
                self.moments.waited = since.map(|since| (since, clock::now_ns()));
                if !self.finished {
                    self.begin()?;
                }
            }
        }
        Ok(())
    }
}
