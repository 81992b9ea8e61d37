//! Whether the process of a standing agent runs, as the machine says on which it would. Only that
//! is a proof of its end: a refused connection may be the work of anybody on the path.
//!
//! Each standing agent has a word of its own among its arguments, its tag, which its record has
//! from before its start. For agents on this machine the process table tells, for others a login to
//! the node, by which the agent was started, too.

use std::path::PathBuf;
use std::time::Duration;

use garland_core::cluster::{Cluster, Node};
use garland_state::places::Places;
use garland_sys::error::reason;
use garland_sys::process_table;
use garland_terminal::failure::Failure;

use crate::inventory::{self, Inventory, LAB_PREFIX};
use crate::launch::{FoundProcesses, ProcessAction, log_name, on_node};
use crate::standing::Standing;

/// How long a process of this machine may take to end after SIGTERM, and again after SIGKILL.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Finds the processes of standing agents.
pub struct Processes<'a> {
    /// The cluster file, which says how nodes are logged in to, or why it cannot be read.
    cluster: Result<Option<&'a Cluster>, String>,
    places: &'a Places,
}

impl<'a> Processes<'a> {
    /// Finds processes on nodes that are logged in to as `cluster` says.
    pub fn new(cluster: Option<&'a Cluster>, places: &'a Places) -> Self {
        Self { cluster: Ok(cluster), places }
    }

    /// Finds processes on nodes that are logged in to as the cluster file of `inventory` says. If
    /// it cannot be read, this is told of the nodes for which it would be needed.
    pub fn from_inventory(inventory: &'a Result<Inventory, Failure>, places: &'a Places) -> Self {
        let cluster = match inventory {
            Ok(inventory) => Ok(inventory.cluster()),
            Err(failure) => Err(failure.message().to_owned()),
        };
        Self { cluster, places }
    }

    /// Returns the numbers of the agent's processes.
    ///
    /// # Errors
    /// When nothing tells: the reason.
    pub fn find(&self, standing: &Standing) -> Result<Vec<u32>, String> {
        Ok(self.look(standing, ProcessAction::Find)?.running)
    }

    /// Ends the agent's processes. Returns the numbers of those that were ended; none if it had
    /// ended before.
    ///
    /// # Errors
    /// When nothing tells whether it runs, or a process does not end: the reason.
    pub fn end(&self, standing: &Standing) -> Result<Vec<u32>, String> {
        let found = self.look(standing, ProcessAction::End)?;
        match found.running.first() {
            None => Ok(found.ended),
            Some(pid) => Err(format!("its process {pid} does not end")),
        }
    }

    fn look(&self, standing: &Standing, action: ProcessAction) -> Result<FoundProcesses, String> {
        let tag =
            standing.tag().ok_or("its record is of a release that did not note its process")?;
        let name = &standing.name;
        if inventory::is_local(name) || name.starts_with(LAB_PREFIX) {
            return here(tag, action);
        }
        let cluster = self.cluster.clone()?;
        let node = cluster.and_then(|cluster| cluster.node(name));
        let node = node.cloned().unwrap_or_else(|| Node::named(name));
        let ssh = cluster.map(|cluster| cluster.ssh.clone()).unwrap_or_default();
        let log = self.log(name).map_err(|failure| failure.message().to_owned())?;
        on_node(&ssh, &node, tag, action, &log).map_err(|error| error.to_string())
    }

    /// Returns the file for messages of ssh.
    fn log(&self, name: &str) -> Result<PathBuf, Failure> {
        Ok(self.places.folder("agents")?.join(log_name(name)))
    }
}

/// Looks for the processes of this machine that have `tag` among their arguments.
fn here(tag: &str, action: ProcessAction) -> Result<FoundProcesses, String> {
    let unknown = |error: std::io::Error| format!("cannot list processes: {}", reason(&error));
    let processes = process_table::with_argument(tag).map_err(unknown)?;
    let mut found = FoundProcesses::default();
    for process in processes {
        let has_ended = action == ProcessAction::End
            && match process.handle().map_err(unknown)? {
                None => true,
                Some(handle) => {
                    handle.ask_to_end().map_err(unknown)?;
                    let has_ended = handle.wait(END_TIMEOUT).map_err(unknown)?;
                    if !has_ended {
                        handle.kill().map_err(unknown)?;
                    }
                    has_ended || handle.wait(END_TIMEOUT).map_err(unknown)?
                }
            };
        let list = if has_ended { &mut found.ended } else { &mut found.running };
        list.push(process.pid);
    }
    Ok(found)
}
