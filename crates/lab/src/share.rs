//! Shares of a processor: a control group for each node, and one for the lab around them. All that
//! runs on a node is put in its group. Nodes without a share have one, too: what a head with a share
//! starts on them would stay in the head's otherwise.
//!
//! Groups are directories that outlive the process that made them. The keeper claims the lab's as long
//! as it lives; an unclaimed one was left by a crash, and the next command removes it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use garland_sys::cgroup::{self, GIVEN, Group};
use garland_sys::random;
use garland_topology::{Node, Topology};

/// What the names of all labs' groups begin with.
const PREFIX: &str = "garland-lab-";

/// A lab's groups, claimed.
pub(crate) struct Shares {
    group: Group,
    _claim: File,
}

impl Shares {
    /// The lab's group's directory.
    pub(crate) fn path(&self) -> &Path {
        self.group.path()
    }

    /// Takes the groups away: nothing came of the lab.
    pub(crate) fn remove(self) {
        // What is left, the next command removes.
        let _ = self.group.remove();
    }
}

/// Makes the groups; `None` if no node has a share. An error names the path.
pub(crate) fn make(lab: &str, topology: &Topology) -> Result<Option<Shares>, String> {
    if topology.nodes.iter().all(|node| node.cpu.is_none()) {
        return Ok(None);
    }
    let tag: String = random::bytes::<4>().iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("{PREFIX}{lab}-{tag}");
    let mut tried = Vec::new();
    for place in cgroup::places().map_err(|error| error.to_string())? {
        let made = || -> io::Result<Shares> {
            let group = place.make(&name)?;
            let claim = group.claim()?.ok_or_else(|| io::Error::other("it is claimed"))?;
            let limit = |node: &Node| {
                let own = group.make(&node.name)?;
                node.cpu.map_or(Ok(()), |share| own.limit(share))
            };
            match topology.nodes.iter().try_for_each(limit) {
                Ok(()) => Ok(Shares { group, _claim: claim }),
                // The first error is the one worth telling.
                Err(error) => group.remove().and(Err(error)),
            }
        };
        match made() {
            Ok(shares) => return Ok(Some(shares)),
            Err(error) => tried.push(format!("{}: {error}", place.path().display())),
        }
    }
    Err(tried.join(", "))
}

/// The group of a node below the lab's, if that has one.
pub(crate) fn of_node(lab: Option<&PathBuf>, node: &str) -> Option<Group> {
    lab.map(|lab| Group::at(&lab.join(node)))
}

/// Removes the groups that crashed labs left behind. What isn't this user's stays.
pub(crate) fn sweep() {
    for place in cgroup::places().unwrap_or_default() {
        for group in place.below(PREFIX).unwrap_or_default() {
            if let Ok(Some(_claim)) = group.claim() {
                // Another command may be faster, or another user has to do it.
                let _ = group.remove();
            }
        }
    }
}

/// What an administrator can do so that ordinary users may give shares.
pub(crate) fn hint() -> String {
    let given = cgroup::places().ok().and_then(|places| {
        let last = places.last()?.path().to_owned();
        last.ends_with(GIVEN).then_some(last)
    });
    let Some(given) = given else {
        return "leave out `cpu`: everything else works".to_owned();
    };
    let folder = given.display();
    format!(
        "as root, `mkdir -p {folder} && chown -R USER {folder}` lets a user do it; without `cpu` \
         everything else works"
    )
}
