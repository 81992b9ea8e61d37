//! The activity of an agent, its copies and jobs in progress, and the socket on which it reports
//! them to other agents of the node.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use garland_dataplane::context::CopyContext;
use garland_protocol::Message;
use garland_protocol::measure::Account;
use garland_sys::error::reason;
use garland_sys::local_socket::NamedListener;
use garland_sys::sync::Mutex;
use garland_sys::threads;

use super::siblings;
use crate::farm::JobsSnapshot;
use crate::log::log;

/// How long another agent may leave the answer unread. Also the pause when no file descriptor is
/// free.
const UNREAD_TIMEOUT: Duration = Duration::from_millis(200);

/// The copies and executors of an agent.
#[derive(Default)]
pub struct Activity {
    /// The prefix of the names of all agents' sockets on the node; `None` if it could not be
    /// determined.
    prefix: Option<String>,
    busy: Mutex<Busy>,
    /// The name of the agent's socket. Set at the first activity, to `None` if the socket could not
    /// be opened.
    socket: OnceLock<Option<String>>,
}

#[derive(Default)]
struct Busy {
    /// Copies, each with the name of its destination or source.
    copies: Vec<(Weak<CopyContext>, String)>,
    executors: Vec<JobsSnapshot>,
}

impl Activity {
    /// Creates the empty activity of an agent with this root directory; `None` for the whole file
    /// system.
    pub fn new(root: Option<&Path>) -> Self {
        let found = siblings::prefix(root.unwrap_or(Path::new("/")));
        let said =
            |error| log(&format!("cannot find other agents of this node: {}", reason(&error)));
        Self { prefix: found.map_err(said).ok(), ..Self::default() }
    }

    /// Returns the prefix of the names of all agents' sockets on the node; `None` if it could not
    /// be determined.
    pub fn prefix(&self) -> Option<&str> {
        self.prefix.as_deref()
    }

    /// Returns the name of this agent's socket, once it is open.
    pub fn socket(&self) -> Option<&str> {
        self.socket.get()?.as_deref()
    }

    /// Adds a copy. `name` is its destination or source.
    pub fn add_copy(self: &Arc<Self>, copy: &Arc<CopyContext>, name: String) {
        let mut busy = self.busy.lock();
        busy.copies.retain(|(copy, _)| copy.strong_count() > 0);
        busy.copies.push((Arc::downgrade(copy), name));
        drop(busy);
        self.open_socket();
    }

    /// Adds an executor.
    pub fn add_executor(self: &Arc<Self>, executor: JobsSnapshot) {
        let mut busy = self.busy.lock();
        busy.executors.retain(JobsSnapshot::is_there);
        busy.executors.push(executor);
        drop(busy);
        self.open_socket();
    }

    /// Returns the current activity.
    pub fn account(&self) -> Account {
        let busy = self.busy.lock();
        let copies: Vec<_> = busy
            .copies
            .iter()
            .filter_map(|(copy, name)| Some((copy.upgrade()?, name.clone())))
            .collect();
        let executors = busy.executors.clone();
        // A copy's view takes locks of the copy.
        drop(busy);
        let present = copies.iter().filter(|(copy, _)| !copy.is_closing());
        let copies = present.map(|(copy, name)| copy.view(name)).collect();
        let mut account = Account { copies, ..Account::default() };
        executors.iter().for_each(|executor| executor.add_to(&mut account));
        account.bound();
        account
    }

    /// Opens the socket, at the first activity.
    fn open_socket(self: &Arc<Self>) {
        self.socket.get_or_init(|| {
            let name = siblings::new_name(self.prefix()?);
            let opened = NamedListener::open(&name).and_then(|socket| {
                let activity = Arc::clone(self);
                threads::spawn("activity", move || activity.answer(&socket))
            });
            match opened {
                Ok(_) => Some(name),
                Err(error) => {
                    log(&format!(
                        "cannot report this agent's activity to others: {}",
                        reason(&error)
                    ));
                    None
                }
            }
        });
    }

    fn answer(&self, socket: &NamedListener) {
        loop {
            match socket.next(UNREAD_TIMEOUT) {
                // An agent that does not read gets no answer.
                Ok(mut caller) => drop(caller.write_all(&self.account().to_bytes())),
                // No file descriptor is free now.
                Err(_) => threads::sleep(UNREAD_TIMEOUT),
            }
        }
    }
}
