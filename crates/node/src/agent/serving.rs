//! What an agent does for one controller: its orders, and the end of everything when it is gone.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use garland_core::proto::{Begin, Copy, FromAgent, Secret, ToAgent};
use garland_sys::clock;

use super::Agent;
use super::heart::Heart;
use crate::balance::Depot;
use crate::budget::Share;
use crate::chain;
use crate::disk;
use crate::exec;
use crate::farm;
use crate::files;
use crate::known::{Comparing, Comparison};
use crate::log::log;
use crate::look;
use crate::orders;
use crate::part::{Part, Refusal};
use crate::probe;
use crate::seat::Seat;
use crate::session::Session;
use crate::store::reason;
use crate::survey::Surveyor;

/// The parts in copies that it has here.
pub type Parts = Arc<Mutex<Vec<Part>>>;

pub fn lock(parts: &Parts) -> MutexGuard<'_, Vec<Part>> {
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of(parts: &Parts, copy: Copy, act: impl FnOnce(&Part)) {
    if let Some(part) = lock(parts).iter().find(|part| part.member().copy == copy) {
        act(part);
    }
}

impl Agent {
    /// Serves one controller until it is gone, and cleans up after it.
    pub fn serve(self: &Arc<Self>, session: &Arc<Session>) {
        let parts: Parts = Arc::default();
        let Some((heart, given)) = self.attend(session, &parts) else { return };
        self.sessions.fetch_add(1, Ordering::AcqRel);
        let age_ns = clock::now_ns() - self.started_ns;
        session.send(&FromAgent::Welcome { pid: std::process::id(), age_ns, links: self.links() });
        let (mut commands, mut stands, mut disk_tests) = (Vec::new(), Vec::new(), Vec::new());
        let (mut surveyor, mut mounts) = (Surveyor::new(session), files::Mounts::new(self));
        let (mut meetings, mut brought) = (Vec::new(), probe::Brought::default());
        let (mut seat, mut depot) = (None, Depot::new(self, session));
        let mut comparing = Comparing::new(self, session);
        let mut desk = farm::Desk::new(self, session);
        let shutdown = loop {
            match given.recv() {
                // What was asked has been answered already.
                Ok(ToAgent::Ping | ToAgent::Clock(_) | ToAgent::View) => {}
                Ok(ToAgent::Exec(command)) => {
                    commands.push(exec::start(self, Arc::clone(session), command));
                }
                Ok(ToAgent::Stand(order, secret, neighbours)) => {
                    stands.push(self.stand(session, order, &secret, &neighbours));
                }
                Ok(ToAgent::Look(order)) => look::start(self, session, order),
                Ok(ToAgent::Attach(copy, text)) => of(&parts, copy, |part| part.attach(text)),
                Ok(ToAgent::Compare(order)) => comparing.obey(order),
                Ok(ToAgent::Disk(order)) => disk_tests.push(disk::start(self, session, order)),
                Ok(ToAgent::Balance(order)) => depot.obey(order),
                Ok(ToAgent::Farm(order)) => desk.obey(order),
                Ok(ToAgent::Files(order)) => mounts.let_in(session, order),
                Ok(ToAgent::ServeBinary(tickets, seconds)) => {
                    self.tickets.add(session, tickets, seconds);
                }
                Ok(ToAgent::Survey(order)) => surveyor.obey(order),
                Ok(ToAgent::Probe(meeting)) => {
                    let helper = brought.whole();
                    probe::Running::begin(self, session, *meeting, helper, &mut meetings);
                }
                Ok(ToAgent::Helper(parcel, more)) => brought.take(&parcel, more),
                Ok(ToAgent::EndProbe(id)) => probe::Running::end_one(&mut meetings, id),
                Ok(ToAgent::Shutdown) => break true,
                Ok(ToAgent::Queue(copy, bytes)) => seat = self.queue(session, copy, bytes),
                Ok(ToAgent::Begin(begin)) => {
                    let share = seat.take().and_then(Seat::share);
                    self.begin(session, &parts, *begin, share, comparing.last());
                }
                Ok(ToAgent::Close(copy)) => {
                    seat = None;
                    self.close(session, &parts, copy);
                }
                Ok(ToAgent::Route(copy, way)) => of(&parts, copy, |part| part.member().route(way)),
                Ok(ToAgent::Detach(copy)) => of(&parts, copy, Part::detach),
                Ok(ToAgent::Prepare(copy, all)) => of(&parts, copy, |p| p.prepare(session, all)),
                Ok(ToAgent::Commit(copy, all)) => of(&parts, copy, |p| p.commit(session, all)),
                Ok(ToAgent::Settle(copy)) => of(&parts, copy, Part::settle),
                Err(_) => break false,
            }
        };
        session.end();
        heart.stop();
        drop((desk, surveyor, depot, seat, comparing, mounts));
        stands.into_iter().for_each(|order| self.leave(order));
        commands.into_iter().for_each(exec::Running::end);
        meetings.into_iter().for_each(probe::Running::end);
        self.end_all(&parts);
        self.count_out(shutdown);
    }

    /// A controller is gone; the agent ends if it was the last one, or wants that.
    fn count_out(&self, shutdown: bool) {
        self.active_ns.store(clock::now_ns(), Ordering::Release);
        // A head may have several channels: one for what goes on, others for files on their way.
        let is_last = self.sessions.fetch_sub(1, Ordering::AcqRel) == 1;
        if shutdown || is_last && self.config.stay.is_none() {
            std::process::exit(0);
        }
    }

    /// Starts the threads of a session. Where that can't be, it is closed, which the controller sees.
    fn attend(&self, session: &Arc<Session>, parts: &Parts) -> Option<(Heart, Receiver<ToAgent>)> {
        let heart = Heart::start(Arc::clone(session), Arc::clone(parts));
        let begun = heart.and_then(|heart| Ok((heart, orders::read(self, session)?)));
        let told = |error| log(&format!("a controller was let go: {}", reason(&error)));
        begun.map_err(told).ok()
    }

    /// Opens the links of a standing chain, and says which ones failed; gives back the order's identity.
    fn stand(
        self: &Arc<Self>,
        session: &Session,
        order: Copy,
        secret: &Secret,
        neighbours: &[SocketAddr],
    ) -> Copy {
        let failed = chain::stand(self, order, secret, neighbours);
        session.send(&FromAgent::Stands(order, failed));
        order
    }

    /// The head is gone: nothing of its copies stays but what is committed, or left to the next.
    fn end_all(&self, parts: &Parts) {
        for part in std::mem::take(&mut *lock(parts)) {
            log(&format!("the head is gone: {} isn't committed", part.name()));
            part.end(self);
        }
    }

    /// How many links stand here.
    fn links(&self) -> u32 {
        let links = self.parking.as_ref().map_or(0, |parking| parking.count());
        u32::try_from(links).unwrap_or(u32::MAX)
    }

    fn queue(&self, session: &Arc<Session>, copy: Copy, bytes: u64) -> Option<Seat> {
        let session = Arc::clone(session);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let teller = Arc::clone(&session);
        let admitted = move || teller.send(&FromAgent::Admitted(copy));
        let seat = Seat::take(&self.budget, bytes, admitted);
        let told = |error| session.send(&FromAgent::Failed(copy, reason(&error)));
        seat.map_err(told).ok()
    }

    fn begin(
        &self,
        session: &Arc<Session>,
        parts: &Parts,
        begin: Begin,
        share: Option<Share>,
        compared: Option<&Comparison>,
    ) {
        let copy = begin.copy;
        let mut late = Duration::ZERO;
        let answer = match Part::begin(self, session, begin, share, compared) {
            Ok(part) => {
                late = part.member().faults.control();
                lock(parts).push(part);
                FromAgent::Ready(copy)
            }
            Err(Refusal::Busy(busy)) => FromAgent::Busy(copy, busy.copies),
            Err(Refusal::Failed(reason)) => FromAgent::Failed(copy, reason),
        };
        session.send_after(late, answer);
    }

    /// Ends a copy's part, and hands over what was noted of it once all else is said.
    fn close(&self, session: &Session, parts: &Parts, copy: Copy) {
        let part = {
            let mut parts = lock(parts);
            let at = parts.iter().position(|part| part.member().copy == copy);
            at.map(|at| parts.swap_remove(at))
        };
        let parcels = part.map_or_else(Vec::new, |part| part.close(self));
        session.send(&FromAgent::Closed(copy));
        // Nothing is said, too: the head waits for it.
        let parcels = if parcels.is_empty() { vec![Vec::new()] } else { parcels };
        let last = parcels.len() - 1;
        for (at, parcel) in parcels.into_iter().enumerate() {
            session.send(&FromAgent::Trace(copy, parcel, at < last));
        }
    }
}
