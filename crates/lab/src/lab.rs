//! A running lab: how to start it, enter it and end it.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use garland_core::cluster::nodelist::fold;
use garland_sys::cgroup::Group;
use garland_sys::namespace::{Entry, Kind, Namespace};
use garland_sys::threads;
use garland_topology::{NodeId, bounds};

use crate::record::Keeper;
use crate::state::{self, StateDir};
use crate::tool::Tool;
use crate::warden::{Charge, Warden};
use crate::{LabError, Record, Spec, apply, bond, keeper, share, vintage};

/// The timeout for a killed keeper and all processes of its lab to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// A running lab.
#[derive(Debug)]
pub struct Lab {
    state: StateDir,
    record: Record,
    keeper: Keeper,
}

impl Lab {
    /// Starts a lab that outlives this program. The remains of a lab with the same name whose
    /// keeper has died are removed first.
    pub fn up(state: &StateDir, spec: Spec) -> Result<Lab, LabError> {
        Lab::raise(state, spec, |_, _| Ok(())).map(|(lab, ())| lab)
    }

    /// Starts a lab as [`Lab::up`] does, and a warden process. If this program ends in any way
    /// without dismissing the warden, the warden ends the lab and removes the directories
    /// `folders`.
    pub fn up_meanwhile(
        state: &StateDir,
        spec: Spec,
        folders: Vec<PathBuf>,
    ) -> Result<(Lab, Warden), LabError> {
        Lab::raise(state, spec, |name, keeper| {
            let name = name.to_owned();
            let keeper = keeper.clone();
            Warden::start(&Charge { state: state.0.clone(), name, keeper, folders })
        })
    }

    /// Starts a lab. Calls `watch` when the lab is built but does not yet outlive this program.
    fn raise<T>(
        state: &StateDir,
        mut spec: Spec,
        watch: impl FnOnce(&str, &Keeper) -> Result<T, LabError>,
    ) -> Result<(Lab, T), LabError> {
        spec.validate()?;
        vintage::resolve(&mut spec.topology)?;
        Tool::Ip.find()?;
        Tool::Tc.find()?;
        let folder = state.lab(&spec.name)?;
        let lock = state.lock()?;
        share::sweep();
        if let Some(record) = Record::read(&folder)? {
            if let Some(keeper) = record.living_keeper() {
                return Err(LabError::Running { name: spec.name, keeper: keeper.pid });
            }
            state::remove(&record.roots)?;
        }
        state::remove(&folder)?;
        let roots = match &mut spec.roots {
            None => folder.join("nodes"),
            Some(roots) => {
                *roots =
                    std::path::absolute(&*roots).map_err(LabError::file("resolve path", roots))?;
                roots.join(format!("garland-lab-{}", spec.name))
            }
        };
        let record = Record::new(spec, roots);
        let lab = build(state, &folder, record, watch).inspect_err(|_| {
            // Report the first error; the next `up` removes what this leaves behind.
            let _ = state::remove(&folder);
        });
        drop(lock);
        lab
    }

    /// Opens the running lab `name`.
    pub fn open(state: &StateDir, name: &str) -> Result<Lab, LabError> {
        let record = Record::read(&state.lab(name)?)?;
        record
            .and_then(|record| {
                Some(Lab { keeper: record.living_keeper()?.clone(), state: state.clone(), record })
            })
            .ok_or_else(|| LabError::NotRunning { name: name.to_owned() })
    }

    /// Ends the lab `name`: kills its processes and removes its networks and directories. Returns
    /// false if the lab was not running; the remains of a crashed lab are removed anyway.
    pub fn end(state: &StateDir, name: &str) -> Result<bool, LabError> {
        Lab::end_if(state, name, |_| true)
    }

    /// Ends the lab `name` as [`Lab::end`] does, but only if `keeper` is its keeper.
    pub(crate) fn end_kept_by(
        state: &StateDir,
        name: &str,
        keeper: &Keeper,
    ) -> Result<bool, LabError> {
        Lab::end_if(state, name, |record| record.keeper.as_ref() == Some(keeper))
    }

    fn end_if(
        state: &StateDir,
        name: &str,
        meant: impl FnOnce(&Record) -> bool,
    ) -> Result<bool, LabError> {
        let folder = state.lab(name)?;
        if !folder.exists() {
            return Ok(false);
        }
        let _lock = state.lock()?;
        let record = Record::read(&folder)?;
        if !record.as_ref().is_none_or(meant) {
            return Ok(false);
        }
        let mut ran = false;
        if let Some(record) = record {
            if let Some(keeper) = record.living_keeper() {
                kill(name, keeper)?;
                ran = true;
            }
            share::sweep();
            state::remove(&record.roots)?;
        }
        state::remove(&folder)?;
        Ok(ran)
    }

    /// Ends this lab; see [`Lab::end`].
    pub fn down(self) -> Result<(), LabError> {
        Lab::end(&self.state, self.name()).map(drop)
    }

    /// Returns the lab's name.
    pub fn name(&self) -> &str {
        &self.record.spec.name
    }

    /// Returns the description of the lab.
    pub fn spec(&self) -> &Spec {
        &self.record.spec
    }

    /// Returns the process that keeps the lab alive.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Returns the names of all nodes, the head first.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.record.spec.node_names()
    }

    /// Returns the head's name.
    pub fn head(&self) -> &str {
        self.record.spec.head()
    }

    /// Returns the nodes except the head, as a node list without the prefix `lab:`.
    pub fn others(&self) -> String {
        fold(&self.nodes().skip(1).collect::<Vec<_>>())
    }

    /// Returns the address by which other nodes reach a node.
    pub fn address(&self, node: &str) -> Result<Ipv4Addr, LabError> {
        Ok(self.record.spec.topology.nodes[self.id(node)?].address)
    }

    /// Returns the addresses of a node that lanes can use: those of its NICs if each NIC is on a
    /// network of its own that all nodes are on, otherwise the address by which other nodes reach
    /// it.
    pub fn rails(&self, node: &str) -> Result<Vec<Ipv4Addr>, LabError> {
        let topology = &self.spec().topology;
        let id = self.id(node)?;
        let all = topology.nics_of(id).filter_map(|(_, nic)| nic.address).collect();
        let uses_all = bounds::rails(topology) > 1 || bond::by_subflow(topology, id);
        Ok(if uses_all { all } else { vec![topology.nodes[id].address] })
    }

    /// Returns the default number of lanes of a copy: one per rail, or one if NICs are bonded,
    /// since the bond spreads the packets.
    pub fn lanes(&self) -> usize {
        bounds::rails(&self.spec().topology)
    }

    /// Whether nodes have bonds of subflows, so that programs must request MPTCP to use all NICs.
    pub fn wants_mptcp(&self) -> bool {
        bond::wants_mptcp(&self.spec().topology)
    }

    /// Returns the rate of a node's disk in bytes per second; `None` if it is not limited.
    pub fn disk(&self, node: &str) -> Result<Option<u64>, LabError> {
        let disk = self.spec().topology.nodes[self.id(node)?].disk;
        Ok(disk.map(|rate| rate.bits_per_second() / 8))
    }

    /// Returns the path of a node's root directory on the host.
    pub fn root(&self, node: &str) -> Result<PathBuf, LabError> {
        self.id(node)?;
        Ok(self.record.roots.join(node))
    }

    /// Returns a command that runs `program` on a node: in its network namespace, with its host
    /// name, and in the lab's PID namespace, so that it ends with the lab. Files, working directory
    /// and environment are those of the host.
    ///
    /// The child process of the caller is a proxy outside of the lab. It forwards signals and the
    /// exit status of the program, and killing it kills the program. SIGSTOP cannot be forwarded;
    /// use [`crate::fault::stop`] to stop the processes of a node.
    pub fn command(&self, node: &str, program: impl AsRef<OsStr>) -> Result<Command, LabError> {
        let mut entry = self.entry(node)?;
        let pid = self.open_namespace(Kind::Pid, node, &self.keeper_file("ns/pid"))?;
        entry.pid = Some(pid);
        let mut command = Command::new(program);
        if let Some(group) = self.group(node) {
            group
                .adopt(&mut command)
                .map_err(LabError::file("open control group", group.path()))?;
        }
        entry.attach(&mut command);
        Ok(command)
    }

    /// Moves this process, which must be single-threaded, into the network and UTS namespaces of a
    /// node, and into its control group if the lab has CPU limits. It does not become a process of
    /// the lab and does not end with it. A process of an ordinary user becomes root in the lab's
    /// user namespace, with the user's rights to files.
    pub fn enter(&self, node: &str) -> Result<(), LabError> {
        let entry = self.entry(node)?;
        if let Some(group) = self.group(node) {
            group.join().map_err(LabError::file("enter control group", group.path()))?;
        }
        entry.enter().map_err(|source| self.enter_failed(node, source))
    }

    /// Calls `work` on a thread in a node's network namespace. This process must have entered the
    /// lab. Sockets that `work` opens stay in that namespace: a connection to 127.0.0.1, for
    /// instance, reaches the node without using any emulated wire.
    pub fn within<T: Send>(
        &self,
        node: &str,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, LabError> {
        self.id(node)?;
        let path = self.inside(&apply::path(Kind::Net, node));
        let net = self.open_namespace(Kind::Net, node, &path)?;
        let there = || net.join().map(|()| work());
        let failed = |_| Err(std::io::Error::other("a thread panicked"));
        let done = std::thread::scope(|scope| {
            threads::spawn_in(scope, "within", there)?.join().unwrap_or_else(failed)
        });
        done.map_err(|source| self.enter_failed(node, source))
    }

    /// Opens the user, UTS and network namespaces of a node.
    pub(crate) fn entry(&self, node: &str) -> Result<Entry, LabError> {
        self.id(node)?;
        let named = |kind| self.open_namespace(kind, node, &self.inside(&apply::path(kind, node)));
        Ok(Entry {
            user: self.user_namespace(node)?,
            pid: None,
            uts: Some(named(Kind::Uts)?),
            net: Some(named(Kind::Net)?),
        })
    }

    /// Opens the namespaces of the media, where the ports are.
    pub(crate) fn media_entry(&self) -> Result<Entry, LabError> {
        let net = self.open_namespace(Kind::Net, "_media", &self.keeper_file("ns/net"))?;
        Ok(Entry { user: self.user_namespace("_media")?, net: Some(net), ..Entry::default() })
    }

    /// Returns the control group of a node; `None` if no node of the lab has a CPU limit.
    pub(crate) fn group(&self, node: &str) -> Option<Group> {
        share::of_node(self.keeper.shares.as_ref(), node)
    }

    /// Returns the index of a node in the topology.
    pub(crate) fn id(&self, node: &str) -> Result<NodeId, LabError> {
        self.record.spec.topology.node(node).ok_or_else(|| LabError::NoSuchNode {
            lab: self.name().to_owned(),
            node: node.to_owned(),
            nodes: fold(&self.nodes().collect::<Vec<_>>()),
        })
    }

    /// Returns the file of the lab's user namespace; `None` if this process is in it already.
    /// `node` is named in errors.
    pub(crate) fn user_path(&self, node: &str) -> Result<Option<PathBuf>, LabError> {
        let inside = self.user_namespace(node)?.is_none();
        Ok((!inside).then(|| self.keeper_file("ns/user")))
    }

    /// Converts a path in the keeper's mount namespace to a path for processes outside of it.
    pub(crate) fn inside(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix("/").unwrap_or(path);
        self.keeper_file("root").join(relative)
    }

    fn user_namespace(&self, node: &str) -> Result<Option<Namespace>, LabError> {
        let user = self.open_namespace(Kind::User, node, &self.keeper_file("ns/user"))?;
        let inside = user.is_current().map_err(|source| self.enter_failed(node, source))?;
        Ok((!inside).then_some(user))
    }

    fn keeper_file(&self, file: &str) -> PathBuf {
        Path::new("/proc").join(self.keeper.pid.to_string()).join(file)
    }

    fn open_namespace(&self, kind: Kind, node: &str, path: &Path) -> Result<Namespace, LabError> {
        Namespace::open(kind, path).map_err(|source| self.enter_failed(node, source))
    }

    pub(crate) fn enter_failed(&self, node: &str, source: std::io::Error) -> LabError {
        LabError::Enter { lab: self.name().to_owned(), node: node.to_owned(), source }
    }
}

/// Creates the directories and starts the keeper. The record is written first, so that what a crash
/// leaves behind can be found and removed.
fn build<T>(
    state: &StateDir,
    folder: &Path,
    mut record: Record,
    watch: impl FnOnce(&str, &Keeper) -> Result<T, LabError>,
) -> Result<(Lab, T), LabError> {
    state::make_private(folder)?;
    record.write(folder)?;
    state::make_private(&record.roots)?;
    let roots = record.roots.clone();
    let populate = || {
        for node in record.spec.node_names() {
            state::make_private(&record.roots.join(node))?;
        }
        let started = keeper::start(&record.spec)?;
        let keeper = started.keeper.clone();
        record.keeper = Some(keeper.clone());
        record.write(folder)?;
        let watched = watch(&record.spec.name, &keeper)?;
        started.stay().map_err(|error| LabError::Start {
            name: record.spec.name.clone(),
            reason: format!("its keeper ended early: {error}"),
        })?;
        Ok((Lab { state: state.clone(), record, keeper }, watched))
    };
    populate().inspect_err(|_| {
        // Report the first error, as above.
        let _ = state::remove(&roots);
    })
}

fn kill(name: &str, keeper: &Keeper) -> Result<(), LabError> {
    let failed =
        |reason: String| LabError::Stop { name: name.to_owned(), keeper: keeper.pid, reason };
    let handle = keeper.identity().handle().map_err(|error| failed(error.to_string()))?;
    let Some(handle) = handle else { return Ok(()) };
    handle.kill().map_err(|error| failed(error.to_string()))?;
    match handle.wait(END_TIMEOUT) {
        Ok(true) => Ok(()),
        Ok(false) => Err(failed("timed out after 10 s waiting for it to end".to_owned())),
        Err(error) => Err(failed(error.to_string())),
    }
}
