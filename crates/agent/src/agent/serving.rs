//! Serving one controller: its orders, and the cleanup when it is gone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use garland_protocol::copy::CopyId;
use garland_protocol::wire::Secret;
use garland_protocol::{FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::error::reason;

use super::Agent;
use super::copies::{Copies, InProgress};
use super::heart::Heart;
use crate::balance::BalanceService;
use crate::chain;
use crate::comparison::Comparing;
use crate::controller::Controller;
use crate::disk;
use crate::examination;
use crate::exec::Commands;
use crate::expected::Expectation;
use crate::farm;
use crate::files;
use crate::log::log;
use crate::names::NamesService;
use crate::orders::{self, Orders};
use crate::probe;
use crate::session::Session;
use crate::stat;
use crate::survey::Surveyor;
use crate::waiter::Waiter;

impl Agent {
    /// Serves one controller until it is gone, then cleans up.
    pub fn serve(self: &Arc<Self>, session: &Arc<Session>) {
        let controller = Controller { agent: Arc::clone(self), session: Arc::clone(session) };
        let in_progress: Arc<InProgress> = Arc::default();
        let Some(attended) = attend(&controller, Arc::clone(&in_progress)) else { return };
        let (heart, (tell, given)) = attended;
        self.welcome(session);
        let mut commands = Commands::default();
        let mut stands = Vec::new();
        let mut disk_tests = Vec::new();
        let mut surveyor = Surveyor::new(&controller);
        let mut mounts = files::Mounts::new(self);
        let mut meetings = Vec::new();
        let mut helper_program = probe::HelperProgram::default();
        let mut waiter = None;
        let mut names = NamesService::new(&controller);
        let mut copies = Copies::new(controller.clone(), in_progress, tell);
        let mut balance = BalanceService::new(&controller);
        let mut comparing = Comparing::new(&controller);
        let mut jobs = farm::JobService::new(&controller);
        let shutdown = loop {
            let Some(order) = copies.next_order(&given) else { break false };
            match order.into_order() {
                // The session or the thread that reads orders has handled these.
                ToAgent::Ping | ToAgent::Clock(_) | ToAgent::View | ToAgent::Session(_) => {}
                ToAgent::Exec(order) => commands.start(&controller, order),
                ToAgent::Input(piece) => commands.feed(piece),
                ToAgent::Stand(order, secret, neighbours) => {
                    stands.extend(self.stand(session, order, &secret, &neighbours));
                }
                ToAgent::Stat(order) => stat::start(&controller, order),
                ToAgent::Examine(path) => examination::start(&controller, path),
                ToAgent::Compare(order) => comparing.obey(order),
                ToAgent::Disk(order) => disk_tests.push(disk::start(&controller, order)),
                ToAgent::Balance(order) => balance.obey(order),
                ToAgent::Farm(order) => jobs.obey(order),
                ToAgent::Names(order) => names.obey(order),
                ToAgent::Files(order) => mounts.open(session, order),
                ToAgent::ServeBinary(tickets, seconds) => {
                    self.tickets.add(session, tickets, seconds);
                }
                ToAgent::Survey(order) => surveyor.obey(order),
                ToAgent::Probe(meeting) => {
                    let helper = helper_program.whole.clone();
                    probe::Running::begin(&controller, *meeting, helper, &mut meetings);
                }
                ToAgent::Helper(parcel, more) => helper_program.take(&parcel, more),
                ToAgent::EndProbe(id) => probe::Running::end_one(&mut meetings, id),
                ToAgent::Shutdown => break true,
                ToAgent::Queue(copy, bytes) => waiter = Waiter::take(&controller, copy, bytes),
                ToAgent::Begin(begin) => {
                    let share = waiter.take().and_then(Waiter::share);
                    copies.begin(*begin, share, comparing.last());
                }
                order @ ToAgent::Close(copy) => {
                    waiter = None;
                    copies.obey(copy, order);
                }
                order @ (ToAgent::Attach(copy, _)
                | ToAgent::Route(copy, _)
                | ToAgent::Detach(copy)
                | ToAgent::Prepare(copy, _)
                | ToAgent::Commit(copy, _)
                | ToAgent::Settle(copy)) => copies.obey(copy, order),
            }
        };
        session.end();
        drop(heart);
        drop((jobs, surveyor, balance, waiter, comparing, mounts, names, stands));
        commands.end();
        meetings.into_iter().for_each(probe::Running::end);
        copies.end(&given);
        self.end_if(shutdown);
    }

    /// Counts a session, and tells its controller about this agent.
    fn welcome(&self, session: &Session) {
        self.sessions.fetch_add(1, Ordering::AcqRel);
        let age_ns = self.age().as_nanos() as u64;
        session.send(&FromAgent::Welcome { pid: std::process::id(), age_ns, links: self.links() });
    }

    /// Opens links to neighbours for later copies, and reports those that failed. Returns what
    /// accepts their links.
    fn stand(
        &self,
        session: &Session,
        order: CopyId,
        secret: &Secret,
        neighbours: &[SocketAddr],
    ) -> Option<Expectation> {
        let stood = chain::stand(self, order, secret, neighbours);
        let (expectation, failed) = match stood {
            Ok((expectation, failed)) => (Some(expectation), failed),
            Err(error) => (None, vec![error.to_string()]),
        };
        session.send(&FromAgent::Stands(order, failed));
        expectation
    }

    /// Ends a session. Exits the process if the controller `asked` for that, or if this was the
    /// last session and the agent is not a standing agent.
    fn end_if(&self, asked: bool) {
        self.active_ns.store(clock::now_ns(), Ordering::Release);
        // A head may have several channels: one for orders, others for files.
        let is_last = self.sessions.fetch_sub(1, Ordering::AcqRel) == 1;
        if asked || is_last && self.config.stay.is_none() {
            // If the key cannot be removed, it is useless once the agents have ended.
            let _ = self.remove_cluster_key();
            std::process::exit(0);
        }
    }

    /// Returns the number of standing links.
    fn links(&self) -> u32 {
        let links = self.link_pool.as_ref().map_or(0, |link_pool| link_pool.count());
        u32::try_from(links).unwrap_or(u32::MAX)
    }
}

/// Starts the threads of a session. If that fails, returns `None`: the session is then dropped,
/// which the controller detects.
pub(super) fn attend(
    controller: &Controller,
    in_progress: Arc<InProgress>,
) -> Option<(Heart, Orders)> {
    let heart = Heart::start(Arc::clone(&controller.session), in_progress);
    let begun = heart.and_then(|heart| Ok((heart, orders::read(controller)?)));
    let told = |error| log(&format!("closed a controller's session: {}", reason(&error)));
    begun.map_err(told).ok()
}
