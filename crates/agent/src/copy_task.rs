//! An agent's part in one copy, from its beginning to its end.

mod ends;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_core::plan::Layout;
use garland_core::trace::{Exchange, PARCEL_MAX, Stage, parcels};
use garland_protocol::{Begin, CopyId, FromAgent, ReadBack, RelayEvent};
use garland_sys::mptcp::Transport;
use garland_sys::{clock, threads};

use self::ends::Ends;
use crate::agent::Agent;
use crate::comparison::Comparison;
use crate::expected::Expected;
use crate::session::Session;
use garland_dataplane::block_index::{Bringing, Records, Reuse, bring};
use garland_dataplane::budget::{Busy, Reservation};
use garland_dataplane::compress::Packing;
use garland_dataplane::context::{CopyConfig, CopyContext, LaneCommand, Notice};
use garland_dataplane::lanes;
use garland_dataplane::leaving;
use garland_dataplane::log::log;
use garland_dataplane::read_back::read_back;
use garland_dataplane::recorder::{At, Budget, Collector};
use garland_dataplane::source::Content;
use garland_dataplane::stall::Faults;
use garland_sys::error::reason;

/// Why a copy can't begin here.
pub enum Refusal {
    /// Its memory is taken by other copies.
    Busy(Busy),
    /// For this reason.
    Failed(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// A copy that this agent takes part in.
pub struct CopyTask {
    member: Arc<CopyContext>,
    /// What it gives, if it gives.
    source: Option<Arc<dyn Content>>,
    /// What is found out about its file before that gets its name.
    read_back: ReadBack,
    threads: Vec<JoinHandle<()>>,
    finishing: Finishing,
    records: Records,
    /// Given back when the part is over: the copy's, and what was found of a tree takes.
    _shares: (Reservation, Option<Reservation>),
}

/// How far the end of a part is.
#[derive(Default)]
struct Finishing {
    /// The threads that prepare, commit and settle, one after the other.
    steps: Mutex<Vec<JoinHandle<()>>>,
    /// It was prepared before it is committed.
    is_prepared: AtomicBool,
}

impl Finishing {
    fn steps(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CopyTask {
    /// Opens the file and starts the lanes, in the memory of `share` if the head has queued
    /// for it, and with what was found there if it was `compared`; says why it can't.
    pub fn begin(
        agent: &Agent,
        session: &Arc<Session>,
        begin: Begin,
        share: Option<Reservation>,
        compared: Option<&Comparison>,
    ) -> Result<Self, Refusal> {
        let began = clock::now_ns();
        begin.check().map_err(|reason| format!("the head's plan: {reason}"))?;
        let tag: String = begin.copy.0[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let lanes = begin.own_lanes().count();
        let buffers = Some(begin.buffers).filter(|&buffers| buffers > 0);
        let memory = CopyContext::memory(begin.layout, lanes, buffers);
        let lasting = compared.map_or(0, Comparison::release);
        let share = match share.filter(|share| share.covers(memory)) {
            Some(share) => share,
            None => agent.budget().take(memory).map_err(Refusal::Busy)?,
        };
        let (reuse, found) = found(agent, &begin, compared, lasting);
        let Ends { store, source, sink, bringing } =
            Ends::open(agent, session, &begin, &tag, reuse)?;
        let (copy, teller) = (begin.copy, Arc::clone(session));
        let device = source.as_ref().map_or_else(|| store.device(), |source| source.device());
        let trace = Collector::new(Budget::of(&begin), copy, begin.me.0, began, device);
        let faults = Faults::new(&begin.injections);
        let late = faults.control();
        let member = Arc::new_cyclic(|member: &std::sync::Weak<CopyContext>| {
            let member = member.clone();
            let report = move || member.upgrade().map(|m| m.report()).unwrap_or_default();
            CopyContext::new(CopyConfig {
                copy,
                me: begin.me,
                secret: begin.secret.clone(),
                digest_key: begin.digest_key.clone(),
                sealed: begin.sealed,
                is_source: source.is_some(),
                buffers,
                acknowledge: begin.acknowledge,
                packing: Packing::None,
                sink,
                lane_count: lanes,
                store,
                congestion: begin.congestion.clone(),
                transport: Transport::mptcp_if(begin.mptcp),
                pace: begin.pace,
                parking: agent.parking().cloned(),
                awake: Arc::clone(agent.awake()),
                trace: Arc::clone(&trace),
                faults,
                notices: Box::new(move |notice| {
                    let message = to_message(copy, notice, &report);
                    let answer =
                        matches!(message, FromAgent::Complete(..) | FromAgent::Written(..));
                    teller.send_after(if answer { late } else { Duration::ZERO }, message);
                }),
            })
        });
        member.watch_store();
        let on = |number| begin.own_lanes().any(|own| own == number);
        let mut threads = lanes::start(&member, &begin.lanes, on, source.as_ref())
            .map_err(|error| format!("starting the copy's lanes: {error}"))?;
        threads.extend(bringing.and_then(|bringing| begin_to_bring(&member, bringing)));
        announce(agent, &member, source.as_ref());
        begin.routes.into_iter().for_each(|route| member.route(route));
        trace.took(Stage::SetUp, At::HERE, began);
        member.sample_now();
        let (read_back, finishing) = (begin.read_back, Finishing::default());
        let (records, shares) = (agent.records().clone(), (share, found));
        Ok(Self { member, source, read_back, threads, finishing, records, _shares: shares })
    }

    /// What the part's threads share.
    pub fn member(&self) -> &Arc<CopyContext> {
        &self.member
    }

    /// Where its bytes go, for messages.
    pub fn name(&self) -> String {
        name(&self.member, self.source.as_ref())
    }

    /// Takes what is to stand beside the file.
    pub fn attach(&self, text: Vec<u8>) {
        self.member.store.attach(text);
    }

    /// Lets every lane drop what the disk can't take.
    pub fn detach(&self) {
        for lane in self.member.lanes.get().into_iter().flatten() {
            lane.post(LaneCommand::Event(RelayEvent::Detached));
        }
    }

    /// Makes everything ready that must be there before the file gets its name, from a thread of its own:
    /// a slow disk must not keep the head's orders waiting.
    pub fn prepare(&self, session: &Arc<Session>, root: [u8; 32]) {
        let (member, session, wanted) =
            (Arc::clone(&self.member), Arc::clone(session), self.read_back);
        self.finishing.is_prepared.store(true, Ordering::Release);
        self.finish(move || {
            let began = member.trace.now();
            let result = is_same(&member, root)
                .and_then(|()| make_stable(&member, wanted))
                .and_then(|()| member.store.prepare(&member.trace).map_err(|it| it.to_string()));
            let at = At { block: Exchange::Commit.number(), ..At::HERE };
            member.trace.took(Stage::Control, at, began);
            let answer = match result {
                Ok(()) => FromAgent::Prepared(member.copy),
                Err(_) if member.is_closing() => return,
                Err(reason) => {
                    member.store.abandon();
                    FromAgent::Failed(member.copy, reason)
                }
            };
            session.send_after(member.faults.control(), answer);
        });
    }

    /// Puts the file under its final name, or looks whether the source is what it was, from a thread of its own: the node goes on feeding
    /// others meanwhile, and a slow disk must not keep the head's orders waiting.
    pub fn commit(&self, session: &Arc<Session>, root: [u8; 32]) {
        let (member, session) = (Arc::clone(&self.member), Arc::clone(session));
        let (source, wanted) = (self.source.clone(), self.read_back);
        let prepared = self.finishing.is_prepared.load(Ordering::Acquire);
        let records = self.records.clone();
        self.finish(move || {
            let began = member.trace.now();
            let same = is_same(&member, root);
            let absence = source.as_ref().and_then(|source| source.absence());
            let changed = source.filter(|source| !source.is_unchanged());
            let result = match (same, changed) {
                (Err(reason), _) => Err(reason),
                (Ok(()), Some(source)) => {
                    Err(format!("{} changed while it was copied", source.name()))
                }
                (Ok(()), None) => {
                    let stable = if prepared { Ok(()) } else { make_stable(&member, wanted) };
                    let commit = || member.store.commit(&member.trace);
                    stable.and_then(|()| commit().map_err(|error| error.to_string()))
                }
            };
            let at = At { block: Exchange::Commit.number(), ..At::HERE };
            member.trace.took(Stage::Control, at, began);
            if let Some(absence) = absence {
                session.send(&FromAgent::Absent(member.copy, absence));
            }
            let answer = match &result {
                Ok(()) => FromAgent::Committed(member.copy, Box::new(member.report())),
                // Whoever ended the copy knows why.
                Err(_) if member.is_closing() => return,
                Err(reason) => FromAgent::Failed(member.copy, reason.clone()),
            };
            session.send_after(member.faults.control(), answer);
            match result {
                Ok(()) => remember(&member, &records),
                // What isn't what it should be is nothing to go on with.
                Err(_) => member.store.abandon(),
            }
        });
    }

    /// Removes what the commit replaced: every node has committed.
    pub fn settle(&self) {
        let member = Arc::clone(&self.member);
        self.finish(move || member.store.settle());
    }

    /// Does a step of the end, after those that were begun before.
    fn finish(&self, step: impl FnOnce() + Send + 'static) {
        let mut steps = self.finishing.steps();
        let before = std::mem::take(&mut *steps);
        let member = Arc::clone(&self.member);
        let teller = Arc::clone(&member);
        let thread = threads::spawn("commit", move || {
            // Its panic has been printed; there is nothing more to say about it here.
            before.into_iter().for_each(|step| drop(step.join()));
            member.finish();
            step();
        });
        match thread {
            Ok(thread) => steps.push(thread),
            Err(error) => teller.tell(Notice::Failed(reason(&error))),
        }
    }

    /// The head has given the copy up, or is done with it: what was prepared and isn't settled is taken
    /// back.
    pub fn close(self, agent: &Agent) -> Vec<Vec<u8>> {
        self.end_with(agent, |member| member.store.withdraw())
    }

    /// Ends the part: threads joined; what isn't committed is left to the next copy, or removed. Gives what was noted of it, in
    /// parcels; none if nothing was, and if it hangs on its disk: then the rest is done when that
    /// answers.
    pub fn end(self, agent: &Agent) -> Vec<Vec<u8>> {
        self.end_with(agent, |_| {})
    }

    /// The same, with something done when its threads have ended.
    fn end_with(
        self,
        agent: &Agent,
        then: impl FnOnce(&CopyContext) + Send + 'static,
    ) -> Vec<Vec<u8>> {
        let (member, name) = (Arc::clone(&self.member), self.name());
        agent.expected().remove(member.copy);
        member.sample_now();
        member.close();
        let Ok(ending) = threads::spawn("end", move || self.clean_up(then)) else {
            log(&format!("{name}: no thread to end its copy with"));
            return Vec::new();
        };
        leaving::join(&member, ending).unwrap_or_else(|| {
            log(&format!("{name} hangs: its copy ended without it"));
            Vec::new()
        })
    }

    fn clean_up(self, then: impl FnOnce(&CopyContext)) -> Vec<Vec<u8>> {
        let began = self.member.trace.now();
        let finishing = std::mem::take(&mut *self.finishing.steps());
        let side = self.member.take_side_threads();
        for thread in self.threads.into_iter().chain(finishing).chain(side) {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = thread.join();
        }
        then(&self.member);
        let Layout { block_size, open, .. } = self.member.layout;
        let worth = self.member.sink().held() * u64::from(block_size) >= LEFT && !open;
        if worth && self.member.store.leave() {
            remember(&self.member, &self.records);
        }
        self.member.store.abandon();
        let at = At { block: Exchange::Close.number(), ..At::HERE };
        self.member.trace.took(Stage::Control, at, began);
        if !self.member.trace.is_on() {
            return Vec::new();
        }
        let trace = self.member.trace.finish();
        parcels(&trace.origin, &trace.records, PARCEL_MAX)
    }
}

/// Brings what is here already; where that can't be, the copy fails here.
fn begin_to_bring(member: &Arc<CopyContext>, bringing: Bringing) -> Option<JoinHandle<()>> {
    let told = |error| member.tell(Notice::Failed(reason(&error)));
    bring(member, bringing).map_err(told).ok()
}

/// Lets neighbours come for a copy's part, and others of the node see it.
fn announce(agent: &Agent, member: &Arc<CopyContext>, source: Option<&Arc<dyn Content>>) {
    agent.expected().add(member.copy, Expected::CopyContext(Arc::clone(member)));
    agent.doings().add_copy(member, name(member, source));
}

/// Where a part's bytes go to or come from.
fn name(member: &CopyContext, source: Option<&Arc<dyn Content>>) -> String {
    source.map_or_else(|| member.store.name(), |source| source.name())
}

/// What is here of a copy, and the memory for it, `lasting` bytes where it is of a tree; where there is
/// no room for that, all of it is sent.
fn found(
    agent: &Agent,
    begin: &Begin,
    compared: Option<&Comparison>,
    lasting: usize,
) -> (Option<Reuse>, Option<Reservation>) {
    let share = Some(lasting).filter(|&it| it > 0).and_then(|it| agent.budget().take(it).ok());
    let compared = compared.filter(|_| lasting == 0 || share.is_some());
    (compared.and_then(|compared| compared.reuse(begin)), share)
}

/// Whether all blocks are here, and are those that the head has read.
fn is_same(member: &CopyContext, root: [u8; 32]) -> Result<(), String> {
    let sink = member.sink();
    let same = sink.is_complete() && sink.root() == Some(root);
    let other = || "the head's digest is not that of the blocks held".to_owned();
    if same { Ok(()) } else { Err(other()) }
}

/// What comes before a file is made stable: a known fault, and reading it back.
fn make_stable(member: &CopyContext, wanted: ReadBack) -> Result<(), String> {
    if let Some(longer) = member.faults.fsync() {
        member.trace.time(Stage::Fsync, || std::thread::sleep(longer));
    }
    read_back(member, wanted)
}

/// So many bytes are worth leaving to the next copy.
const LEFT: u64 = 4 << 20;

/// Remembers what the file has.
fn remember(member: &CopyContext, records: &Records) {
    if let Some(file) = member.store.file().filter(|_| !member.layout.open) {
        let digests = member.sink().held_contents();
        records.settle(file, member.layout, digests);
    }
}

fn to_message(
    copy: CopyId,
    notice: Notice,
    report: &impl Fn() -> garland_protocol::Report,
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
        Notice::Failed(reason) => FromAgent::Failed(copy, reason),
    }
}
