//! The beginning of a copy: immediate, or after all busy agents have granted memory. Nodes may join
//! later.

use garland_core::plan::NodeId;
use garland_core::trace::{Exchange, Stage};
use garland_dataplane::context::needed_memory;
use garland_dataplane::recorder::{At, Budget};
use garland_protocol::ToAgent;
use garland_protocol::copy::{Begin, End, HeadEvent, Route, root_digest};
use garland_protocol::operation::Turns;
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;

use super::attempt::Attempt;
use super::{Driver, Ends, Newcomer};

impl Driver<'_> {
    /// Starts the head's own lanes and its trace.
    pub(super) fn start(&mut self) -> std::io::Result<()> {
        self.attempt.start_lanes(self.job)?;
        let context = &self.attempt.context;
        if let Some(tracing) = self.job.tracing {
            // Set-up ends where the wait for busy agents begins.
            let waited = self.head.moments(0).waited;
            let end_ns = waited.map_or_else(clock::now_ns, |(since, _)| since);
            context.config.trace.note(At::HERE.span(Stage::SetUp, tracing.started_ns, end_ns));
        }
        context.sample_now();
        self.begin_clock_probes();
        Ok(())
    }

    /// Orders a node to begin the copy.
    pub(super) fn begin(&mut self, id: NodeId) {
        self.attempt.asked(id, Exchange::Begin);
        let begin = self.begin_of(id);
        self.agents.send(id, &ToAgent::Begin(Box::new(begin)));
    }

    /// Returns the order with which a node begins the copy.
    fn begin_of(&self, id: NodeId) -> Begin {
        let job = self.job;
        let place = id.index() - 1;
        let end = match &job.ends {
            Ends::Out { destination, .. } => End::Sink(destination.clone()),
            Ends::In { origins, .. } => End::Source(origins[place].clone()),
        };
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        Begin {
            copy: self.attempt.copy,
            secret: self.attempt.secret.clone(),
            digest_key: match &end {
                End::Sink(_) => self.attempt.digest_key.to_public(),
                End::Source(_) => self.attempt.digest_key.clone(),
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
            routes: self.routes(id),
            congestion: job.congestion.clone(),
            mptcp: job.transport == Transport::Mptcp,
            pace: job.pipeline.pace,
            read_back: self.read_back_of_nodes(),
            trace: Budget::of_node(job.plan, job.tracing),
            absence_max: u32::try_from(job.policy.absence_max).unwrap_or(0),
            injections: job.injections_at(id),
        }
    }

    /// Returns a node's present hops, with the secrets of their links.
    fn routes(&self, id: NodeId) -> Vec<Route> {
        self.head.routes(id).into_iter().map(|route| self.attempt.complete(route)).collect()
    }

    /// Requests the memory that a node needs for the copy.
    pub(super) fn queue(&mut self, id: NodeId) {
        let plan = self.job.plan;
        let bytes = needed_memory(plan.layout, plan.lanes_of(id), self.job.pipeline.buffers);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.attempt.asked(id, Exchange::Queue);
        self.agents.send(id, &ToAgent::Queue(self.attempt.copy, bytes));
    }

    /// Closes the copy everywhere, which releases all memory that agents have reserved, and begins
    /// a new attempt, which queues for memory.
    pub(super) fn begin_again(&mut self, interrupts: Option<&Interrupts>) -> std::io::Result<()> {
        self.close(interrupts)?;
        if !self.finished {
            self.turns = Turns::new(clock::now_ns());
            self.attempt = Attempt::new(self.job, self.agents.ids().count() + 1)?;
            let key = |id| Some((self.agents.connection(id)?.key(), id));
            let agents = self.agents.ids().filter_map(key).collect();
            self.head.begin_again(clock::now_ns(), self.attempt.copy, self.job.plan, agents);
        }
        Ok(())
    }

    /// Adds the nodes that have become available while the copy is running.
    pub(super) fn add_late(&mut self) {
        let late = self.job.late.as_ref().filter(|_| self.head.is_ready());
        for newcomer in late.into_iter().flat_map(|late| late.newcomers.try_iter()) {
            let now = clock::now_ns();
            match newcomer {
                Newcomer::Late(id, Err(reason)) if self.head.may_join(id) => {
                    self.head.handle(now, HeadEvent::Unavailable(id, reason));
                }
                Newcomer::Late(id, Ok(agent)) if self.head.may_join(id) => {
                    self.agents.set_connection(id, agent.connection);
                    self.addresses[id.index() - 1].clone_from(&agent.addresses);
                    self.head.handle(now, HeadEvent::Joined(id, agent.addresses));
                }
                Newcomer::Joins(name, agent) if !self.head.is_over() => {
                    self.agents.grow();
                    self.attempt.grow();
                    let id = self.agents.ids().last().unwrap_or_default();
                    let agent = agent.map(|agent| {
                        self.agents.set_connection(id, agent.connection);
                        agent.addresses
                    });
                    self.addresses.push(agent.clone().unwrap_or_default());
                    self.head.handle(now, HeadEvent::Added(name, agent));
                }
                // The copy is over, or the node has begun.
                Newcomer::Late(..) | Newcomer::Joins(..) => {}
            }
        }
    }
}
