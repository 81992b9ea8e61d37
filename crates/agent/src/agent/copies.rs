//! The copies that one controller started on this agent. Each copy opens its files in a separate
//! thread, since a disk may hang.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use garland_core::printable;
use garland_dataplane::Calls;
use garland_dataplane::budget::Reservation;
use garland_protocol::copy::{Begin, CopyId, Destination, DiskCall, End, Report};
use garland_protocol::{Admitted, FromAgent, ToAgent};
use garland_sys::channel::{Receiver, SyncSender};
use garland_sys::sync::Mutex;

use crate::audit::Direction;
use crate::comparison::Comparison;
use crate::controller::Controller;
use crate::copy_task::CopyTask;
use crate::error::OrderError;
use crate::log::log;
use crate::orders::{Begun, Event};

/// The copies in progress. Heartbeats report on them.
#[derive(Default)]
pub struct InProgress {
    /// The copies that have begun.
    pub tasks: Mutex<Vec<CopyTask>>,
    /// The copies that open their files, each with its calls.
    opening: Mutex<Vec<(CopyId, Arc<Calls>)>>,
}

impl InProgress {
    /// Returns reports of the copies whose calls to open their files make no progress.
    pub fn opening(&self) -> Vec<(CopyId, Report)> {
        let opening = self.opening.lock();
        let report = |(copy, calls): &(CopyId, Arc<Calls>)| {
            let pending = Some(calls.pending(0)?);
            Some((*copy, Report { pending, ..Report::default() }))
        };
        opening.iter().filter_map(report).collect()
    }
}

/// How long to wait, when the head is gone, for a copy that is opening its files. A copy that takes
/// longer is considered to hang on its disk.
const OPENING_TIMEOUT: Duration = Duration::from_secs(1);

/// The copies that one controller started on this agent.
pub struct Copies {
    controller: Controller,
    in_progress: Arc<InProgress>,
    /// Copies that are opening their files, each with the orders received for it so far.
    beginning: HashMap<CopyId, Vec<ToAgent>>,
    tell: SyncSender<Event>,
}

impl Copies {
    /// Creates an empty set of copies. `tell` queues events for the thread that executes orders.
    pub fn new(
        controller: Controller,
        in_progress: Arc<InProgress>,
        tell: SyncSender<Event>,
    ) -> Self {
        Self { controller, in_progress, beginning: HashMap::new(), tell }
    }

    /// Opens the files of a copy in a separate thread. `share` is the memory that the agent's queue
    /// granted to the copy, if any; `compared` is the comparison that preceded the copy, if any.
    pub fn begin(
        &mut self,
        begin: Begin,
        share: Option<Reservation>,
        compared: Option<Arc<Comparison>>,
    ) {
        let copy = begin.copy;
        self.beginning.insert(copy, Vec::new());
        let in_progress = Arc::clone(&self.in_progress);
        let tell = self.tell.clone();
        let work = move |controller: &Controller| {
            let path = path_of(&begin);
            let is_source = matches!(begin.end, End::Source(_));
            let direction = if is_source { Direction::Out } else { Direction::In };
            let disk_path = path.clone().into();
            let calls = Arc::new(Calls::default());
            in_progress.opening.lock().push((copy, Arc::clone(&calls)));
            let result = calls.during(DiskCall::Open, &disk_path, 0, || {
                CopyTask::begin(controller, begin, share, compared.as_deref())
            });
            in_progress.opening.lock().retain(|(of, _)| *of != copy);
            if let Err(error) = result.as_ref()
                && !matches!(error, OrderError::Busy(_))
            {
                let Controller { agent, session } = controller;
                let verdict = error.to_string();
                agent.audit.copy(&session.caller, direction, path.as_bytes(), 0, &verdict);
            }
            // The controller is gone: end the copy.
            if let Err(lost) = tell.send(Event::Begun(Box::new(Begun { copy, result })))
                && let Event::Begun(begun) = lost.0
                && let Ok(part) = begun.result
            {
                part.end();
            }
        };
        let failed = |reason| FromAgent::Failed(copy, reason);
        if self.controller.spawn("begin", work, failed).is_none() {
            self.beginning.remove(&copy);
        }
    }

    /// Waits for the next order. Meanwhile, handles copies that have begun. Returns `None` when the
    /// head is gone.
    pub fn next_order(&mut self, given: &Receiver<Event>) -> Option<Admitted> {
        loop {
            match given.recv() {
                Ok(Event::Order(order)) => return Some(order),
                Ok(Event::Begun(begun)) => self.begun(*begun),
                Ok(Event::Gone) | Err(_) => return None,
            }
        }
    }

    /// Handles a copy that has begun or cannot begin.
    fn begun(&mut self, begun: Begun) {
        let Begun { copy, result } = begun;
        let Some(orders) = self.beginning.remove(&copy) else {
            // The head is gone.
            if let Ok(part) = result {
                part.end();
            }
            return;
        };
        let mut late = Duration::ZERO;
        let answer = match result {
            Ok(part) => {
                late = part.copy.config.faults.control();
                self.in_progress.tasks.lock().push(part);
                FromAgent::Ready(copy)
            }
            Err(OrderError::Busy(busy)) => FromAgent::Busy(copy, busy.copies),
            Err(error) => FromAgent::Failed(copy, error.to_string()),
        };
        self.controller.session.send_after(late, answer);
        orders.into_iter().for_each(|order| self.obey(copy, order));
    }

    /// Executes an order about a copy. If the copy is still opening its files, the order is kept
    /// until the copy has begun. An order for an unknown copy is ignored.
    pub fn obey(&mut self, copy: CopyId, order: ToAgent) {
        // Keep the order until the copy has begun: a file that is being created cannot even be
        // removed yet. If its disk hangs, the head does not wait for the answer.
        if let Some(orders) = self.beginning.get_mut(&copy) {
            return orders.push(order);
        }
        if matches!(order, ToAgent::Close(_)) {
            return self.close(copy);
        }
        let parts = self.in_progress.tasks.lock();
        let Some(part) = parts.iter().find(|part| part.copy.config.id == copy) else {
            return;
        };
        match order {
            ToAgent::Attach(_, text) => part.attach(text),
            ToAgent::Route(_, route) => part.route(&route),
            ToAgent::Detach(_) => part.detach(),
            ToAgent::Prepare(_, all) => part.prepare(all),
            ToAgent::Commit(_, all) => part.commit(all),
            ToAgent::Settle(_) => part.settle(),
            _ => {}
        }
    }

    /// Ends a copy. After all other messages of the copy, sends its trace, or an empty trace if
    /// there is none.
    fn close(&self, copy: CopyId) {
        let part = {
            let mut parts = self.in_progress.tasks.lock();
            let at = parts.iter().position(|part| part.copy.config.id == copy);
            at.map(|at| parts.swap_remove(at))
        };
        let parcels = part.map_or_else(Vec::new, CopyTask::close);
        self.controller.session.send(&FromAgent::Closed(copy));
        // The head waits for a trace, so an empty one is sent, too.
        let parcels = if parcels.is_empty() { vec![Vec::new()] } else { parcels };
        let last = parcels.len() - 1;
        for (at, parcel) in parcels.into_iter().enumerate() {
            self.controller.session.send(&FromAgent::Trace(copy, parcel, at < last));
        }
    }

    /// Ends all copies because the head is gone. Committed files, and partial files for the next
    /// copy, remain. Does not wait for calls that hang.
    pub fn end(mut self, given: &Receiver<Event>) {
        while !self.beginning.is_empty() {
            match given.recv_timeout(OPENING_TIMEOUT) {
                Ok(Event::Begun(begun)) => {
                    self.beginning.remove(&begun.copy);
                    self.begun(*begun);
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        for part in std::mem::take(&mut *self.in_progress.tasks.lock()) {
            log(&format!("the head is gone: {} is not committed", part.name()));
            part.end();
        }
    }
}

/// Formats several paths for a message: the first path, and the number of the others.
fn of_files<'a>(mut paths: impl Iterator<Item = &'a Vec<u8>>) -> String {
    let first = paths.next().map(|path| printable::name(path));
    match (first, paths.count()) {
        (first, 0) => first.unwrap_or_default(),
        (first, more) => format!("{} and {more} more files", first.unwrap_or_default()),
    }
}

/// Returns the path that a copy opens, for messages.
fn path_of(begin: &Begin) -> String {
    let path = match &begin.end {
        End::Source(origins) => return of_files(origins.iter().map(|origin| &origin.path)),
        End::Sink(Destination::Files { files, .. }) => {
            return of_files(files.iter().map(|file| &file.path));
        }
        End::Sink(Destination::File { path, .. }) => path,
        End::Sink(Destination::Tree(tree)) => &tree.path,
        End::Sink(Destination::Scratch { path, .. }) => path,
        End::Sink(Destination::Command(line)) => line,
        End::Sink(Destination::Null | Destination::Output) => return "its output".to_owned(),
    };
    printable::name(path)
}
