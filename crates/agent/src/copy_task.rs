//! One copy on an agent, from beginning to end.

mod ends;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use garland_core::plan::Layout;
use garland_core::trace::{Exchange, PARCEL_MAX, Stage, parcels};
use garland_dataplane::Faults;
use garland_dataplane::block_index::{Bringing, Reuse, bring};
use garland_dataplane::budget::Reservation;
use garland_dataplane::context::{
    CopyConfig, CopyContext, LaneCommand, Notice, Progress, needed_memory,
};
use garland_dataplane::copy_threads;
use garland_dataplane::read_back;
use garland_dataplane::recorder::{At, Budget, Collector};
use garland_dataplane::source::{Content, is_same_again};
use garland_dataplane::store::Store;
use garland_protocol::FromAgent;
use garland_protocol::copy::{Begin, CopyId, ReadBack, RelayEvent, Route};
use garland_sys::clock;
use garland_sys::error::reason;
use garland_sys::sync::Mutex;
use garland_sys::threads::JoinHandle;
use garland_sys::threads::{self, Joined};

use self::ends::Ends;
use crate::agent::Agent;
use crate::audit::Direction;
use crate::comparison::Comparison;
use crate::controller::Controller;
use crate::error::{OrderError, cannot};
use crate::expected::ExpectedLinks;
use crate::log::log;

/// A copy on this agent.
pub struct CopyTask {
    controller: Controller,
    /// The state that the copy's threads share.
    pub copy: Arc<CopyContext>,
    /// The source, if this agent feeds the copy.
    source: Option<Arc<dyn Content>>,
    /// How the file is read back before it is renamed.
    read_back: ReadBack,
    /// The memory at the head of the reports of absent parts of a tree, in bytes.
    absence_max: usize,
    threads: Vec<JoinHandle<()>>,
    finishing: Finishing,
    /// Accepts links of neighbours until the copy ends.
    links: ExpectedLinks,
    /// The memory of the copy and of a tree's comparison, released when the copy is over.
    _shares: (Reservation, Option<Reservation>),
}

/// The final steps of a copy.
#[derive(Default)]
struct Finishing {
    /// The thread of the most recent step (prepare, commit or settle). It first waits for the
    /// thread of the step before.
    last: Mutex<Option<JoinHandle<()>>>,
    /// Whether the head has ordered to prepare the file.
    is_prepared: AtomicBool,
    /// What became of the file, for the node's log; empty before its last step.
    verdict: Arc<OnceLock<String>>,
}

impl CopyTask {
    /// Opens the files and starts the lanes. `share` is the memory that the agent's queue granted
    /// to the copy, if any; `compared` is the comparison that preceded the copy, if any.
    pub fn begin(
        controller: &Controller,
        begin: Begin,
        share: Option<Reservation>,
        compared: Option<&Comparison>,
    ) -> Result<Self, OrderError> {
        let Controller { agent, session } = controller;
        let began = clock::now_ns();
        let invalid = |reason| format!("protocol error: invalid plan from the head: {reason}");
        begin.check().map_err(invalid)?;
        // Nodes that share a file system have hidden files of their own there.
        let id: String = begin.copy.0[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        let tag = format!("{id}{:04x}", begin.me.0);
        let lanes = begin.own_lanes().count();
        let buffers = Some(begin.buffers).filter(|&buffers| buffers > 0);
        let memory = needed_memory(begin.layout, lanes, buffers);
        let lasting = compared.map_or(0, Comparison::release);
        let share = match share.filter(|share| share.covers(memory)) {
            Some(share) => share,
            None => agent.budget.take(memory).map_err(OrderError::Busy)?,
        };
        let (reuse, found) = found(agent, &begin, compared, lasting);
        let Ends { store, source, sink, bringing } = Ends::open(controller, &begin, &tag, reuse)?;
        let id = begin.copy;
        let teller = Arc::clone(session);
        let device = source.as_ref().map_or_else(|| store.device(), |source| source.device());
        let trace = Collector::new(Budget::from_begin(&begin), id, begin.me.0, began, device);
        let late = Faults::new(&begin.injections).control();
        let copy = Arc::new_cyclic(|own: &std::sync::Weak<CopyContext>| {
            let own = own.clone();
            let report = move || own.upgrade().map(|m| m.report()).unwrap_or_default();
            let notices = move |notice| {
                let message = to_message(id, notice, &report);
                let answer = matches!(message, FromAgent::Complete(..) | FromAgent::Written(..));
                teller.send_after(if answer { late } else { Duration::ZERO }, message);
            };
            let notices = Box::new(notices);
            let traced = Arc::clone(&trace);
            let config = CopyConfig::from_begin(
                &begin,
                source.is_some(),
                store,
                traced,
                &agent.awake,
                notices,
            );
            let config = CopyConfig { link_pool: agent.link_pool.clone(), ..config };
            CopyContext::new(config, sink)
        });
        copy.watch_store();
        let on = |number| begin.own_lanes().any(|own| own == number);
        let mut threads = copy_threads::start(&copy, &begin.lanes, on, source.as_ref())
            .map_err(cannot("start the copy's lanes"))?;
        threads.extend(bringing.and_then(|bringing| begin_to_bring(&copy, bringing)));
        let task = Self {
            controller: controller.clone(),
            links: ExpectedLinks::new(&agent.expected, &copy),
            copy,
            source,
            read_back: begin.read_back,
            absence_max: begin.absence_max as usize,
            threads,
            finishing: Finishing::default(),
            _shares: (share, found),
        };
        for route in &begin.routes {
            task.follow(route).inspect_err(|_| task.copy.close())?;
        }
        agent.activity.add_copy(&task.copy, task.name());
        trace.took(Stage::SetUp, At::HERE, began);
        task.copy.sample_now();
        Ok(task)
    }

    /// Returns the name of the copy's destination or source, for messages.
    pub fn name(&self) -> String {
        name(&*self.copy.config.store, self.source.as_ref())
    }

    /// Sets the text of the manifest, which is committed together with the copy.
    pub fn attach(&self, text: Vec<u8>) {
        self.copy.config.store.attach(text);
    }

    /// Changes the route of a lane.
    pub fn route(&self, route: &Route) {
        if let Err(error) = self.follow(route) {
            log(&format!("cannot accept the links of a route: {error}"));
        }
    }

    /// Accepts the links of a route, and gives it to its lane.
    ///
    /// # Errors
    /// When another operation has the identity of a link: the lane is without this link.
    fn follow(&self, route: &Route) -> Result<(), OrderError> {
        let accepted = self.links.accept(route);
        self.copy.route(route);
        accepted
    }

    /// Lets all lanes forward blocks that the disk is too slow to accept, without writing them
    /// here.
    pub fn detach(&self) {
        for lane in self.copy.lanes.all() {
            lane.post(LaneCommand::Event(RelayEvent::Detached));
        }
    }

    /// Does all work that must precede the rename. Fails unless all blocks are present and `root`
    /// is the root of their digests. Uses a separate thread, since a slow disk must not delay the
    /// head's orders.
    pub fn prepare(&self, root: [u8; 32]) {
        let copy = Arc::clone(&self.copy);
        let session = Arc::clone(&self.controller.session);
        let wanted = self.read_back;
        let verdict = Arc::clone(&self.finishing.verdict);
        self.finishing.is_prepared.store(true, Ordering::Release);
        self.finish(move || {
            let CopyConfig { id, store, trace, faults, .. } = &copy.config;
            let began = trace.now();
            let result = is_same(&copy.progress, root)
                .and_then(|()| make_stable(&copy, wanted))
                .and_then(|()| Ok(store.prepare(trace)?));
            trace.took(Stage::Control, At::exchange(Exchange::Commit), began);
            let answer = match result {
                Ok(()) => FromAgent::Prepared(*id),
                Err(_) if copy.is_closing() => return,
                Err(error) => {
                    let _ = verdict.set(error.to_string());
                    store.abandon();
                    FromAgent::Failed(*id, error.to_string())
                }
            };
            session.send_after(faults.control(), answer);
        });
    }

    /// Renames the file, or, at the source, checks that the source is unchanged. Uses a separate
    /// thread, since a slow disk must not delay the head's orders. The node continues to feed
    /// others.
    pub fn commit(&self, root: [u8; 32]) {
        let copy = Arc::clone(&self.copy);
        let controller = self.controller.clone();
        let source = self.source.clone();
        let wanted = self.read_back;
        let absence_max = self.absence_max;
        let prepared = self.finishing.is_prepared.load(Ordering::Acquire);
        let verdict = Arc::clone(&self.finishing.verdict);
        self.finish(move || {
            let CopyConfig { id, store, trace, faults, .. } = &copy.config;
            let began = trace.now();
            let same = is_same(&copy.progress, root);
            let absence = source.as_ref().and_then(|source| source.absence());
            let is_over = || copy.is_closing();
            let digest = |index| copy.progress.sink().content(index);
            let changed = source.filter(|source| {
                !source.is_unchanged()
                    && !is_same_again(source.as_ref(), copy.layout, digest, is_over)
            });
            let stable = same.and_then(|()| match changed {
                Some(source) => {
                    Err(format!("{} changed while it was copied", source.name()).into())
                }
                None if prepared => Ok(()),
                None => make_stable(&copy, wanted),
            });
            let result = stable.and_then(|()| Ok(store.commit(trace)?));
            trace.took(Stage::Control, At::exchange(Exchange::Commit), began);
            let absence = absence.or_else(|| store.absence());
            for report in absence.into_iter().flat_map(|all| all.into_messages(absence_max)) {
                controller.session.send(&FromAgent::Absent(*id, report));
            }
            let answer = match &result {
                Ok(()) => FromAgent::Committed(*id, Box::new(copy.report())),
                // Ignore errors after the copy was ended.
                Err(_) if copy.is_closing() => return,
                Err(error) => FromAgent::Failed(*id, error.to_string()),
            };
            let told =
                result.as_ref().err().map_or_else(|| "committed".to_owned(), OrderError::to_string);
            // Only one step is the last one.
            let _ = verdict.set(told);
            controller.session.send_after(faults.control(), answer);
            match result {
                Ok(()) => {
                    controller.session.removals.end();
                    remember(&copy, &controller.agent);
                }
                // A later copy must not resume a file with wrong contents.
                Err(_) => store.abandon(),
            }
        });
    }

    /// Removes the files that the commit replaced; called when all nodes have committed.
    pub fn settle(&self) {
        let copy = Arc::clone(&self.copy);
        self.finish(move || copy.config.store.settle());
    }

    /// Runs a final step in a thread, after the previous steps.
    fn finish(&self, step: impl FnOnce() + Send + 'static) {
        let mut last = self.finishing.last.lock();
        let before = last.take();
        let copy = Arc::clone(&self.copy);
        let teller = Arc::clone(&copy);
        let thread = threads::spawn("commit", move || {
            drop(before.map(Joined::from));
            copy.progress.finish();
            step();
        });
        match thread {
            Ok(thread) => *last = Some(thread),
            Err(error) => teller.tell(Notice::Failed(reason(&error))),
        }
    }

    /// Ends the copy by order of the head; undoes a commit that is not settled. Returns the trace
    /// in parcels.
    pub fn close(self) -> Vec<Vec<u8>> {
        self.end_with(|copy| copy.config.store.withdraw())
    }

    /// Ends the copy: joins its threads, and keeps an uncommitted file for the next copy or removes
    /// it. Returns the trace in parcels. If the disk hangs, returns no parcels, and the rest is
    /// done when the disk responds.
    pub fn end(self) -> Vec<Vec<u8>> {
        self.end_with(|_| {})
    }

    /// Ends the copy. Calls `then` when its threads have ended, before the file is kept or removed.
    /// Returns the trace in parcels; none if the disk hangs.
    fn end_with(self, then: impl FnOnce(&CopyContext) + Send + 'static) -> Vec<Vec<u8>> {
        let copy = Arc::clone(&self.copy);
        let name = self.name();
        self.links.clear();
        copy.sample_now();
        copy.close();
        let Ok(ending) = threads::spawn("end", move || self.clean_up(then)) else {
            log(&format!("cannot end the copy of {name}: cannot start a thread"));
            return Vec::new();
        };
        copy_threads::join(&copy, ending).unwrap_or_else(|| {
            log(&format!("ended the copy of {name} while its disk hangs"));
            Vec::new()
        })
    }

    fn clean_up(mut self, then: impl FnOnce(&CopyContext)) -> Vec<Vec<u8>> {
        let copy = Arc::clone(&self.copy);
        let CopyConfig { store, trace, .. } = &copy.config;
        let began = trace.now();
        let finishing = self.finishing.last.lock().take();
        let threads = std::mem::take(&mut self.threads).into_iter().chain(finishing);
        let threads = threads.chain(self.copy.lanes.take_side_threads());
        threads.for_each(|thread| drop(Joined::from(thread)));
        then(&self.copy);
        let Layout { block_size, open, .. } = self.copy.layout;
        let held = self.copy.progress.sink().held() * u64::from(block_size);
        self.tell_log(held);
        let worth = held >= LEFT && !open;
        if worth && store.leave() {
            remember(&self.copy, &self.controller.agent);
        }
        store.abandon();
        trace.took(Stage::Control, At::exchange(Exchange::Close), began);
        if !trace.is_on() {
            return Vec::new();
        }
        let trace = trace.finish();
        parcels(&trace.origin, &trace.records, PARCEL_MAX)
    }
}

impl CopyTask {
    /// Logs the end of the copy, of which this node has `held` bytes in whole blocks.
    fn tell_log(&self, held: u64) {
        let Controller { agent, session } = &self.controller;
        let Layout { length, open, .. } = self.copy.layout;
        let bytes = if open { held } else { held.min(length) };
        let direction = if self.source.is_some() { Direction::Out } else { Direction::In };
        let verdict =
            self.finishing.verdict.get().map_or("ended before its commit", String::as_str);
        let name = self.name();
        agent.audit.copy(&session.caller, direction, name.as_bytes(), bytes, verdict);
    }
}

/// Starts to copy the blocks that exist in other files of this node. If no thread can be started,
/// the copy fails.
fn begin_to_bring(copy: &Arc<CopyContext>, bringing: Bringing) -> Option<JoinHandle<()>> {
    let told = |error| copy.tell(Notice::Failed(reason(&error)));
    bring(copy, bringing).map_err(told).ok()
}

/// Returns the name of a copy's destination or source.
fn name(store: &dyn Store, source: Option<&Arc<dyn Content>>) -> String {
    source.map_or_else(|| store.name(), |source| source.name())
}

/// Returns the existing data that a copy can reuse, and a reservation of the `lasting` bytes that
/// reusing a tree needs. If this memory is not available, nothing is reused.
fn found(
    agent: &Agent,
    begin: &Begin,
    compared: Option<&Comparison>,
    lasting: usize,
) -> (Option<Reuse>, Option<Reservation>) {
    let share = Some(lasting).filter(|&it| it > 0).and_then(|it| agent.budget.take(it).ok());
    let compared = compared.filter(|_| lasting == 0 || share.is_some());
    (compared.and_then(|compared| compared.reuse(begin)), share)
}

/// Checks that all blocks are present, and that they equal those that the head has read: `root` is
/// the root of the head's digests.
fn is_same(progress: &Progress, root: [u8; 32]) -> Result<(), OrderError> {
    let sink = progress.sink();
    if sink.is_complete() && sink.root() == Some(root) {
        return Ok(());
    }
    Err("digest mismatch: the blocks on this node are not those that the head read".into())
}

/// Sleeps for the injected delay of fsync, if any, and reads the file back as `wanted`.
fn make_stable(copy: &CopyContext, wanted: ReadBack) -> Result<(), OrderError> {
    if let Some(longer) = copy.config.faults.fsync() {
        copy.config.trace.time(Stage::Fsync, || threads::sleep(longer));
    }
    Ok(read_back(copy, wanted)?)
}

/// The size in bytes from which a partial file is kept for the next copy.
const LEFT: u64 = 4 << 20;

/// Stores the digests of the file's blocks for later comparisons, unless it was changed since it
/// got its name.
fn remember(copy: &CopyContext, agent: &Agent) {
    let store = &copy.config.store;
    if let (Some(file), Some(named), false) = (store.file(), store.named_stamp(), copy.layout.open)
    {
        // Locked for each block: heartbeats need it, too, and a disk may be slow.
        let digests =
            (0..copy.layout.blocks()).map(|index| copy.progress.sink().held_content(index));
        agent.config.records.settle(file, &named, copy.layout, digests);
    }
}

fn to_message(
    copy: CopyId,
    notice: Notice,
    report: &impl Fn() -> garland_protocol::copy::Report,
) -> FromAgent {
    match notice {
        Notice::First => FromAgent::First(copy),
        Notice::LinkLost(lane, epoch, side, reason) => {
            FromAgent::LinkLost { copy, lane, epoch, side, reason }
        }
        Notice::Bad(index) => FromAgent::Bad(copy, index),
        Notice::Written(index) => FromAgent::Written(copy, index),
        Notice::BadFrame(lane, epoch, side) => FromAgent::BadFrame { copy, lane, epoch, side },
        Notice::Complete(root) | Notice::Read(root) => {
            FromAgent::Complete(copy, root, Box::new(report()))
        }
        // The head needs what its source sends.
        Notice::Outdated(.., reason) | Notice::Failed(reason) => FromAgent::Failed(copy, reason),
    }
}
