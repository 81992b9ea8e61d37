//! A copy that this agent feeds in place of the head.

use std::sync::Arc;
use std::time::Duration;

use garland_core::plan::HEAD;
use garland_dataplane::budget::Reservation;
use garland_dataplane::context::{CopyConfig, CopyContext, Notice};
use garland_dataplane::copy_threads;
use garland_dataplane::recorder::{Budget, Collector};
use garland_dataplane::source::{AHEAD, Content, Source};
use garland_dataplane::store::NoStore;
use garland_protocol::FromAgent;
use garland_protocol::copy::{Begin, CopyId, Route, Sink, TAG_LEN};
use garland_protocol::measure::{BalanceEvent, FeedEvent, TxStats};
use garland_sys::threads::JoinHandle;

use crate::controller::Controller;
use crate::error::{OrderError, cannot};
use crate::probe::stream::tx_stats;

/// How long to wait for the threads of a copy to end. Threads that take longer or hang on the disk
/// are left running.
const THREADS_END_TIMEOUT: Duration = Duration::from_secs(60);

/// Memory of a lane in bytes, in addition to its blocks.
const LANE: usize = 1 << 20;

/// A copy that this agent feeds.
pub struct Feeding {
    copy: Arc<CopyContext>,
    threads: Vec<JoinHandle<()>>,
    /// The memory of the copy, released when the copy is over.
    _share: Reservation,
}

impl Feeding {
    /// Begins to feed `source` to the nodes of the plan `begin`.
    ///
    /// # Errors
    /// When there is not enough memory, or no thread can be started.
    pub fn begin(
        controller: &Controller,
        begin: Begin,
        source: Source,
    ) -> Result<Self, OrderError> {
        let Controller { agent, session } = controller;
        let room = begin.layout.block_size as usize + TAG_LEN;
        let ahead = usize::try_from(AHEAD).unwrap_or(usize::MAX);
        let memory = (ahead + 3 * room + LANE) * begin.lanes.len();
        let share = agent.budget.take(memory).map_err(OrderError::Busy)?;
        let source: Arc<dyn Content> = Arc::new(source);
        let id = begin.copy;
        let teller = Arc::clone(session);
        let read = Arc::clone(&source);
        let tell = move |notice| {
            if let Some(event) = to_event(notice, &*read) {
                teller.send(&FromAgent::Balance(BalanceEvent::Fed(id, event)));
            }
        };
        let trace = Collector::new(Budget::NOTHING, id, HEAD.0, 0, None);
        // Every round has connections of its own: their statistics start at zero.
        let config = CopyConfig::from_begin(
            &begin,
            true,
            Box::new(NoStore),
            trace,
            &agent.awake,
            Box::new(tell),
        );
        let copy = Arc::new(CopyContext::new(config, Sink::source(begin.layout)));
        let threads = copy_threads::start(&copy, &begin.lanes, |_| true, Some(&source))
            .map_err(cannot("start the copy's lanes"))?;
        agent.activity.add_copy(&copy, source.name());
        begin.routes.into_iter().for_each(|route| copy.route(&route));
        Ok(Self { copy, threads, _share: share })
    }

    /// Returns whether this is the copy `copy`.
    pub fn is_of(&self, copy: CopyId) -> bool {
        self.copy.config.id == copy
    }

    /// Changes the route of a lane.
    pub fn route(&self, route: Route) {
        self.copy.route(&route);
    }

    /// Returns the kernel's statistics of the lanes' connections. Lanes over MPTCP have none and
    /// are omitted.
    pub fn accounts(&self) -> Vec<TxStats> {
        let lanes = (0..).zip(self.copy.lanes.all());
        lanes.filter_map(|(number, lane)| Some(tx_stats(number, &lane.account()?))).collect()
    }

    /// Ends the copy, and waits up to 60 seconds for its threads.
    pub fn end(self) {
        self.copy.close();
        let threads = self.threads.into_iter().chain(self.copy.lanes.take_side_threads());
        let _all = copy_threads::join_all(
            &self.copy,
            threads,
            garland_sys::clock::after(THREADS_END_TIMEOUT),
        );
    }
}

fn to_event(notice: Notice, source: &dyn Content) -> Option<FeedEvent> {
    match notice {
        Notice::Read(root) if source.is_unchanged() => Some(FeedEvent::Read(root)),
        Notice::Read(_) => {
            Some(FeedEvent::Failed("the file changed while it was copied".to_owned()))
        }
        Notice::LinkLost(lane, epoch, _, reason) => Some(FeedEvent::LinkLost(lane, epoch, reason)),
        Notice::BadFrame(lane, epoch, _) => Some(FeedEvent::BadFrame(lane, epoch)),
        Notice::Outdated(.., reason) | Notice::Failed(reason) => Some(FeedEvent::Failed(reason)),
        Notice::First | Notice::Bad(_) | Notice::Written(_) | Notice::Complete(_) => None,
    }
}
