//! An agent's part in one copy, from its beginning to its end.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_core::proto::{Begin, Copy, FromAgent, RelayEvent, Sink};
use garland_core::trace::{Exchange, PARCEL_MAX, Stage, parcels};
use garland_sys::clock;
use garland_sys::mptcp::Transport;

use crate::agent::{Agent, Expected};
use crate::budget::{Busy, Share};
use crate::feed::StoreFeeder;
use crate::lane::{Lane, LaneParts};
use crate::member::{LaneHandle, Mail, Member, Membership, Notice};
use crate::recorder::{At, Budget, Collector};
use crate::session::Session;
use crate::stall::Faults;
use crate::store;
use crate::writer;

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
pub struct Part {
    member: Arc<Member>,
    threads: Vec<JoinHandle<()>>,
    finishing: Mutex<Option<JoinHandle<()>>>,
    /// Given back when the part is over.
    _share: Share,
}

impl Part {
    /// Opens the destination and starts the lanes, in the memory of `share` if the head has queued
    /// for it; says why it can't.
    pub fn begin(
        agent: &Agent,
        session: &Arc<Session>,
        begin: Begin,
        share: Option<Share>,
    ) -> Result<Self, Refusal> {
        let began = clock::now_ns();
        begin.check().map_err(|reason| format!("the head's plan: {reason}"))?;
        let tag: String = begin.copy.0[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let memory = Member::memory(begin.layout, begin.lanes.len());
        let share = match share.filter(|share| share.covers(memory)) {
            Some(share) => share,
            None => agent.budget().take(memory).map_err(Refusal::Busy)?,
        };
        let (root, disk, usage) = (agent.root(), agent.disk(), agent.usage());
        let store = store::open(&begin.destination, root, begin.layout, &tag, disk, usage)
            .map_err(|error| error.to_string())?;
        let sink = if store.is_ordered() {
            Sink::in_order(begin.layout, Member::buffer_count(begin.layout, begin.lanes.len()))
        } else {
            Sink::new(begin.layout, store.is_holder())
        };
        let (copy, teller) = (begin.copy, Arc::clone(session));
        let place = begin.me.0;
        let trace = Collector::new(Budget::of(&begin), copy, place, began, store.device());
        let faults = Faults::new(&begin.injections);
        let late = faults.control();
        let member = Arc::new_cyclic(|member: &std::sync::Weak<Member>| {
            let member = member.clone();
            let report = move || member.upgrade().map(|m| m.report()).unwrap_or_default();
            Member::new(Membership {
                copy,
                me: begin.me,
                secret: begin.secret.clone(),
                sealed: begin.sealed,
                sink,
                lane_count: begin.lanes.len(),
                store,
                congestion: begin.congestion.clone(),
                transport: Transport::mptcp_if(begin.mptcp),
                parking: agent.parking().cloned(),
                awake: Arc::clone(agent.awake()),
                trace: Arc::clone(&trace),
                faults,
                notices: Box::new(move |notice| {
                    let message = to_message(copy, notice, &report);
                    let answer = matches!(message, FromAgent::Complete(..));
                    teller.send_after(if answer { late } else { Duration::ZERO }, message);
                }),
            })
        });
        let threads = start_lanes(agent, &member, &begin)
            .map_err(|error| format!("starting the copy's lanes: {error}"))?;
        agent.expect(copy, Expected::Member(Arc::clone(&member)));
        begin.routes.into_iter().for_each(|route| member.route(route));
        trace.took(Stage::SetUp, At::HERE, began);
        member.sample_now();
        Ok(Self { member, threads, finishing: Mutex::new(None), _share: share })
    }

    /// What the part's threads share.
    pub fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// Where its bytes go, for messages.
    pub fn name(&self) -> String {
        self.member.store.name()
    }

    /// Lets every lane drop what the disk can't take.
    pub fn detach(&self) {
        for lane in self.member.lanes.get().into_iter().flatten() {
            lane.post(Mail::Event(RelayEvent::Detached));
        }
    }

    /// Puts the file under its final name, from a thread of its own: the node goes on feeding
    /// others meanwhile, and a slow disk must not keep the head's orders waiting.
    pub fn commit(&self, session: &Arc<Session>, root: [u8; 32]) {
        let (member, session) = (Arc::clone(&self.member), Arc::clone(session));
        let thread = std::thread::spawn(move || {
            let began = member.trace.now();
            let same = {
                let sink = member.sink();
                sink.is_complete() && sink.root() == Some(root)
            };
            let result = match same {
                true => {
                    if let Some(longer) = member.faults.fsync() {
                        member.trace.time(Stage::Fsync, || std::thread::sleep(longer));
                    }
                    member.store.commit(&member.trace).map_err(|error| error.to_string())
                }
                false => Err("the head's digest is not that of the blocks held".to_owned()),
            };
            let at = At { block: Exchange::Commit.number(), ..At::HERE };
            member.trace.took(Stage::Control, at, began);
            let answer = match result {
                Ok(()) => FromAgent::Committed(member.copy, member.report()),
                Err(reason) => FromAgent::Failed(member.copy, reason),
            };
            session.send_after(member.faults.control(), answer);
        });
        *self.finishing.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }

    /// Ends the part: threads joined, what isn't committed removed. Gives what was noted of it, in
    /// parcels; none if nothing was.
    pub fn end(self, agent: &Agent) -> Vec<Vec<u8>> {
        let began = self.member.trace.now();
        agent.leave(self.member.copy);
        self.member.sample_now();
        self.member.close();
        let finishing = self.finishing.into_inner().unwrap_or_else(PoisonError::into_inner);
        for thread in self.threads.into_iter().chain(finishing) {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = thread.join();
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

fn start_lanes(
    agent: &Agent,
    member: &Arc<Member>,
    begin: &Begin,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let (arrived, arrivals) = channel();
    let mut handles = Vec::new();
    let mut lanes = Vec::new();
    for (number, &blocks) in (0..).zip(&begin.lanes) {
        let (handle, letters) = LaneHandle::new()?;
        handles.push(Arc::clone(&handle));
        let lane = Lane::new(LaneParts {
            number,
            blocks,
            member: Arc::clone(member),
            handle,
            feeder: Box::new(StoreFeeder::new(Arc::clone(member), number)),
            writer: Some(arrived.clone()),
            path: agent.path(),
        });
        lanes.push((lane, letters));
    }
    // Set before any thread runs, and only here.
    let _ = member.lanes.set(handles);
    let mut threads: Vec<JoinHandle<()>> = lanes
        .into_iter()
        .map(|(lane, letters)| std::thread::spawn(move || lane.run(&letters)))
        .collect();
    let member = Arc::clone(member);
    threads.push(std::thread::spawn(move || writer::write_blocks(&member, &arrivals)));
    Ok(threads)
}

fn to_message(
    copy: Copy,
    notice: Notice,
    report: &impl Fn() -> garland_core::proto::Report,
) -> FromAgent {
    match notice {
        Notice::First => FromAgent::First(copy),
        Notice::LinkLost(lane, epoch, side, reason) => {
            FromAgent::LinkLost { copy, lane, epoch, side, reason }
        }
        Notice::Bad(index) => FromAgent::Bad(copy, index),
        Notice::BadFrame(lane, epoch, side) => FromAgent::BadFrame { copy, lane, epoch, side },
        Notice::Complete(root) | Notice::Read(root) => FromAgent::Complete(copy, root, report()),
        Notice::Failed(reason) => FromAgent::Failed(copy, reason),
    }
}
