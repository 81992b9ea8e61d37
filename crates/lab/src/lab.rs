//! A running lab: starting it, joining it, ending it.

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
use crate::{LabError, Record, Spec, apply, bond, keeper, share};

/// How long a killed keeper may take to go with all processes of its lab.
const END: Duration = Duration::from_secs(10);

/// A running lab.
#[derive(Debug)]
pub struct Lab {
    state: StateDir,
    record: Record,
    keeper: Keeper,
}

impl Lab {
    /// Starts a lab that lives on after this program. A stale one of the same name, whose keeper
    /// has died, is cleaned away first.
    pub fn up(state: &StateDir, spec: Spec) -> Result<Lab, LabError> {
        Lab::raise(state, spec, |_, _| Ok(())).map(|(lab, ())| lab)
    }

    /// Starts a lab as [`Lab::up`] does, and a warden that ends it and removes `folders` when this
    /// program ends, however it does, without having dismissed the warden.
    pub fn up_meanwhile(
        state: &StateDir,
        spec: Spec,
        folders: Vec<PathBuf>,
    ) -> Result<(Lab, Warden), LabError> {
        Lab::raise(state, spec, |name, keeper| {
            let (name, keeper) = (name.to_owned(), keeper.clone());
            Warden::start(&Charge { state: state.0.clone(), name, keeper, folders })
        })
    }

    /// Starts a lab; `watch` is called when it stands, but still ends with this program.
    fn raise<T>(
        state: &StateDir,
        mut spec: Spec,
        watch: impl FnOnce(&str, &Keeper) -> Result<T, LabError>,
    ) -> Result<(Lab, T), LabError> {
        spec.validate()?;
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
                    std::path::absolute(&*roots).map_err(LabError::file("find folder", roots))?;
                roots.join(format!("garland-lab-{}", spec.name))
            }
        };
        let record = Record::new(spec, roots);
        let lab = build(state, &folder, record, watch).inspect_err(|_| {
            // The first error is the one worth telling; a rest is cleaned by the next `up`.
            let _ = state::remove(&folder);
        });
        drop(lock);
        lab
    }

    /// Finds a running lab.
    pub fn open(state: &StateDir, name: &str) -> Result<Lab, LabError> {
        let record = Record::read(&state.lab(name)?)?;
        record
            .and_then(|record| {
                Some(Lab { keeper: record.living_keeper()?.clone(), state: state.clone(), record })
            })
            .ok_or_else(|| LabError::NotRunning { name: name.to_owned() })
    }

    /// Ends the lab `name`: its processes, its networks, its directories. False when none ran; what a
    /// crash left of it is removed all the same.
    pub fn end(state: &StateDir, name: &str) -> Result<bool, LabError> {
        Lab::end_if(state, name, |_| true)
    }

    /// Ends the lab `name` as [`Lab::end`] does, but only the one that `keeper` keeps.
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

    /// Ends this lab, see [`Lab::end`].
    pub fn down(self) -> Result<(), LabError> {
        Lab::end(&self.state, self.name()).map(drop)
    }

    /// The lab's name.
    pub fn name(&self) -> &str {
        &self.record.spec.name
    }

    /// The description of the lab.
    pub fn spec(&self) -> &Spec {
        &self.record.spec
    }

    /// The process the lab hangs on.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// All node names, the head first.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.record.spec.node_names()
    }

    /// The head's name.
    pub fn head(&self) -> &str {
        self.record.spec.head()
    }

    /// The nodes but the head, as a node list without `lab:`.
    pub fn others(&self) -> String {
        fold(&self.nodes().skip(1).collect::<Vec<_>>())
    }

    /// The address that others reach a node by.
    pub fn address(&self, node: &str) -> Result<Ipv4Addr, LabError> {
        Ok(self.record.spec.topology.nodes[self.id(node)?].address)
    }

    /// The addresses of a node that lanes can go by: those of its NICs where each is on a network of
    /// its own that all nodes are on, else the one that others reach it by.
    pub fn rails(&self, node: &str) -> Result<Vec<Ipv4Addr>, LabError> {
        let topology = &self.spec().topology;
        let id = self.id(node)?;
        let all = topology.nics_of(id).filter_map(|(_, nic)| nic.address).collect();
        let rails = bounds::rails(topology) > 1 || bond::by_subflow(topology, id);
        Ok(if rails { all } else { vec![topology.nodes[id].address] })
    }

    /// The default number of lanes of a copy: one per rail; one if NICs are bonded, since the bond spreads
    /// packets.
    pub fn lanes(&self) -> usize {
        bounds::rails(&self.spec().topology)
    }

    /// Whether its nodes are bonded by subflows, so that programs must ask for MPTCP to use all of
    /// their NICs.
    pub fn wants_mptcp(&self) -> bool {
        bond::wants_mptcp(&self.spec().topology)
    }

    /// Bytes per second of a node's disk, where it is slower than the machine's.
    pub fn disk(&self, node: &str) -> Result<Option<u64>, LabError> {
        let disk = self.spec().topology.nodes[self.id(node)?].disk;
        Ok(disk.map(|rate| rate.bits_per_second() / 8))
    }

    /// The root directory of a node, on the host.
    pub fn root(&self, node: &str) -> Result<PathBuf, LabError> {
        self.id(node)?;
        Ok(self.record.roots.join(node))
    }

    /// A command whose program runs on a node: in its network, under its host name, as one of the
    /// lab's processes, which end with the lab. Files are the host's, and so are the working directory
    /// and the environment.
    ///
    /// The process that the caller gets to see is a proxy outside of the lab: it passes on signals
    /// and the end of the program, and killing it kills the program. SIGSTOP can't be passed on;
    /// [`crate::fault::stop`] stops what runs on a node.
    pub fn command(&self, node: &str, program: impl AsRef<OsStr>) -> Result<Command, LabError> {
        let mut entry = self.entry(node)?;
        let pid = self.open_namespace(Kind::Pid, node, &self.keeper_file("ns/pid"))?;
        entry.pid = Some(pid);
        let mut command = Command::new(program);
        if let Some(group) = self.group(node) {
            group.adopt(&mut command).map_err(group_failed("open", &group))?;
        }
        entry.attach(&mut command);
        Ok(command)
    }

    /// Moves this process, which must be single-threaded, into a node's place in the network, under
    /// its host name. It doesn't become a process of the lab and doesn't end with it. Without root
    /// it is root of the lab's user namespace from then on, with the user's rights to files.
    pub fn enter(&self, node: &str) -> Result<(), LabError> {
        let entry = self.entry(node)?;
        if let Some(group) = self.group(node) {
            group.join().map_err(group_failed("enter", &group))?;
        }
        entry.enter().map_err(|source| self.enter_failed(node, source))
    }

    /// Does `work` on a thread in a node's network; this process must have entered the lab. What it
    /// opens stays there: a connection to 127.0.0.1, for instance, reaches the node beside all wires.
    pub fn within<T: Send>(
        &self,
        node: &str,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, LabError> {
        self.id(node)?;
        let path = self.inside(&apply::path(Kind::Net, node));
        let net = self.open_namespace(Kind::Net, node, &path)?;
        let there = || net.join().map(|()| work());
        let failed = |_| Err(std::io::Error::other("a thread failed"));
        let done = std::thread::scope(|scope| {
            threads::spawn_in(scope, "within", there)?.join().unwrap_or_else(failed)
        });
        done.map_err(|source| self.enter_failed(node, source))
    }

    /// The user, UTS and network namespaces of a node.
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

    /// The namespaces of the media, where the ports are.
    pub(crate) fn media_entry(&self) -> Result<Entry, LabError> {
        let net = self.open_namespace(Kind::Net, "_media", &self.keeper_file("ns/net"))?;
        Ok(Entry { user: self.user_namespace("_media")?, net: Some(net), ..Entry::default() })
    }

    /// The control group of a node, in a lab with shares of a processor.
    fn group(&self, node: &str) -> Option<Group> {
        share::of_node(self.keeper.shares.as_ref(), node)
    }

    /// The place of a node in the topology.
    pub(crate) fn id(&self, node: &str) -> Result<NodeId, LabError> {
        self.record.spec.topology.node(node).ok_or_else(|| LabError::NoSuchNode {
            lab: self.name().to_owned(),
            node: node.to_owned(),
            nodes: fold(&self.nodes().collect::<Vec<_>>()),
        })
    }

    /// The file of the lab's user namespace, unless this process is in it already.
    pub(crate) fn user_path(&self, node: &str) -> Result<Option<PathBuf>, LabError> {
        let inside = self.user_namespace(node)?.is_none();
        Ok((!inside).then(|| self.keeper_file("ns/user")))
    }

    /// A path as the keeper sees it, by a name that works outside.
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

    fn enter_failed(&self, node: &str, source: std::io::Error) -> LabError {
        LabError::Enter { lab: self.name().to_owned(), node: node.to_owned(), source }
    }
}

/// Makes the directories and the keeper. The record goes first, so that whatever is left by a crash
/// can be found and removed.
fn build<T>(
    state: &StateDir,
    folder: &Path,
    record: Record,
    watch: impl FnOnce(&str, &Keeper) -> Result<T, LabError>,
) -> Result<(Lab, T), LabError> {
    state::make_private(folder)?;
    record.write(folder)?;
    state::make_private(&record.roots)?;
    let roots = record.roots.clone();
    populate(state, folder, record, watch).inspect_err(|_| {
        // As above: the first error is the one worth telling.
        let _ = state::remove(&roots);
    })
}

fn populate<T>(
    state: &StateDir,
    folder: &Path,
    mut record: Record,
    watch: impl FnOnce(&str, &Keeper) -> Result<T, LabError>,
) -> Result<(Lab, T), LabError> {
    for node in record.spec.node_names() {
        state::make_private(&record.roots.join(node))?;
    }
    let started = keeper::start(&record.spec)?;
    let keeper = started.keeper.clone();
    record.keeper = Some(keeper.clone());
    record.write(folder)?;
    let watched = watch(&record.spec.name, &keeper)?;
    started.stay().map_err(|error| LabError::Keeper {
        name: record.spec.name.clone(),
        reason: format!("the keeper ended: {error}"),
    })?;
    Ok((Lab { state: state.clone(), record, keeper }, watched))
}

fn kill(name: &str, keeper: &Keeper) -> Result<(), LabError> {
    let failed = |reason: String| LabError::Keeper {
        name: name.to_owned(),
        reason: format!("end keeper {}: {reason}", keeper.pid),
    };
    let handle = keeper.identity().handle().map_err(|error| failed(error.to_string()))?;
    let Some(handle) = handle else { return Ok(()) };
    handle.kill().map_err(|error| failed(error.to_string()))?;
    match handle.wait(END) {
        Ok(true) => Ok(()),
        Ok(false) => Err(failed("it didn't end in 10 s".to_owned())),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn group_failed(
    operation: &'static str,
    group: &Group,
) -> impl FnOnce(std::io::Error) -> LabError + use<> {
    let path = group.path().to_owned();
    move |source| LabError::Group { operation, path, source }
}
