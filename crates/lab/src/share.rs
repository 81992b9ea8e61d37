//! CPU limits of nodes: a control group for the lab, and one in it for each node. All processes of
//! a node are put in its group. Nodes without a limit have a group as well: otherwise processes
//! that a head with a limit starts on them would stay in the group of the head.
//!
//! Control groups outlive the process that created them. The keeper holds a claim on the lab's
//! group as long as it runs. A group without a claim was left by a crash, and the next command
//! removes it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_sys::cgroup::{self, GIVEN, Group};
use garland_sys::random;
use garland_topology::{Node, Topology};

use crate::LabError;

/// The prefix of the names of the labs' control groups.
const PREFIX: &str = "garland-lab-";

/// The control groups of a lab, and the keeper's claim on them.
pub(crate) struct Shares {
    group: Group,
    _claim: File,
}

impl Shares {
    /// Returns the directory of the lab's group.
    pub(crate) fn path(&self) -> &Path {
        self.group.path()
    }

    /// Removes the groups; for a lab that failed to start.
    pub(crate) fn remove(self) {
        // The next command removes what this leaves behind.
        let _ = self.group.remove();
    }
}

/// Creates the control groups of the lab `lab`; returns `None` if no node has a CPU limit. An error
/// names the paths that were tried.
pub(crate) fn make(lab: &str, topology: &Topology) -> Result<Option<Shares>, LabError> {
    if topology.nodes.iter().all(|node| node.cpu.is_none()) {
        return Ok(None);
    }
    let tag: String = random::bytes::<4>().iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("{PREFIX}{lab}-{tag}");
    let failed = |reason: String| {
        let problem = format!("limiting the CPU time of nodes (`cpu`) failed: {reason}");
        LabError::Unavailable { problem, hint: hint() }
    };
    let mut tried = Vec::new();
    for place in cgroup::places().map_err(|error| failed(error.to_string()))? {
        let made = || -> io::Result<Shares> {
            let group = place.make(&name)?;
            let claim = group.claim()?.ok_or_else(|| io::Error::other("another lab uses it"))?;
            let limit = |node: &Node| {
                let own = group.make(&node.name)?;
                node.cpu.map_or(Ok(()), |share| own.limit(share))
            };
            match topology.nodes.iter().try_for_each(limit) {
                Ok(()) => Ok(Shares { group, _claim: claim }),
                // Report the first error.
                Err(error) => group.remove().and(Err(error)),
            }
        };
        match made() {
            Ok(shares) => return Ok(Some(shares)),
            Err(error) => tried.push(format!("{}: {error}", printable::path(place.path()))),
        }
    }
    Err(failed(tried.join(", ")))
}

/// Returns the group of a node, given the directory `lab` of the lab's group; `None` without such a
/// directory.
pub(crate) fn of_node(lab: Option<&PathBuf>, node: &str) -> Option<Group> {
    lab.map(|lab| Group::at(&lab.join(node)))
}

/// Removes the control groups of this user that crashed labs left behind.
pub(crate) fn sweep() {
    for place in cgroup::places().unwrap_or_default() {
        for group in place.below(PREFIX).unwrap_or_default() {
            if let Ok(Some(_claim)) = group.claim() {
                // Another command may have removed it, or it belongs to another user.
                let _ = group.remove();
            }
        }
    }
}

/// Returns what an administrator can do so that ordinary users can create control groups.
fn hint() -> String {
    let given = cgroup::places().ok().and_then(|places| {
        let last = places.last()?.path().to_owned();
        last.ends_with(GIVEN).then_some(last)
    });
    let Some(given) = given else {
        return "omit `cpu`: the lab works without it".to_owned();
    };
    let folder = printable::path(&given);
    format!(
        "to let a user create control groups, run as root: mkdir -p {folder} && chown -R USER {folder}; \
         or omit `cpu`"
    )
}
