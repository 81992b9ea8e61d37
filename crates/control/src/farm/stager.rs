//! Copies jobs' files to nodes and back. Many files make one copy, and all copies of a node in one
//! direction use one session.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use garland_core::farm::Text;
use garland_core::farm::staging::path_inside;
use garland_core::plan::{Layout, Plan};
use garland_dataplane::{Content, Pace, Packing, Source, join};
use garland_protocol::{
    Destination, FILES_MAX, FileTarget, KeyPair, MAX_MESSAGE, Origin, OutputFile, Policy,
    PublicKey, ReadBack,
};
use garland_sys::error::reason;
use garland_sys::mptcp::Transport;
use garland_sys::tcp;
use garland_transport::connect_agent;

use super::transfer::{Direction, Transfer};
use crate::copy::{Agent, CopyJob, CopySession, Ends, Pipeline};

/// Timeout for connecting to an agent.
const CONNECT: Duration = Duration::from_secs(5);

/// The maximum total length in bytes of files that are copied together. A longer file is copied
/// alone.
const TOGETHER: u64 = 8 << 20;

/// The maximum size in bytes of the files' descriptions in one copy: the order to begin is one
/// message, and its rest is short.
const DESCRIPTIONS: usize = MAX_MESSAGE / 2;

/// An upper bound for the size of a file's description without its path, in bytes.
const DESCRIPTION: usize = 40;

/// Copies files between this machine and nodes.
pub struct Stager {
    keys: KeyPair,
    /// The addresses and the key of each node's agent; `None` for a node without an agent.
    nodes: Vec<Option<(Vec<SocketAddr>, PublicKey)>>,
    names: Vec<String>,
    /// The directory on nodes that contains the jobs' own directories.
    at_nodes: PathBuf,
    /// The directory on this machine to which the paths of files are relative.
    here: PathBuf,
    /// The rate of this machine's disk in bytes per second, if a lab limits it.
    disk: Option<u64>,
}

impl Stager {
    /// Creates a stager between the directory `here` on this machine and `at_nodes` on nodes.
    pub fn new(
        keys: KeyPair,
        agents: &[Result<Agent, String>],
        names: &[String],
        at_nodes: &Text,
        here: &Path,
        disk: Option<u64>,
    ) -> Self {
        let address_and_key = |agent: &Result<Agent, String>| {
            let agent = agent.as_ref().ok()?;
            Some((agent.addresses.clone(), agent.connection.key()))
        };
        Self {
            keys,
            nodes: agents.iter().map(address_and_key).collect(),
            names: names.to_vec(),
            at_nodes: path(at_nodes).to_owned(),
            here: here.to_owned(),
            disk,
        }
    }

    /// Opens a control channel for copies; the agent's first channel is used for jobs.
    fn connect(&self, node: usize) -> Result<CopySession, String> {
        let (addresses, key) = self.nodes[node].as_ref().ok_or("the node has no agent")?;
        let first = *addresses.first().ok_or("the node's agent has no address")?;
        let connection = connect_agent(first, &self.keys, key, CONNECT);
        let connection = connection.map_err(|error| error.to_string())?;
        Ok(CopySession::new(Agent { connection, addresses: addresses.clone() }))
    }

    /// Returns the files of a transfer. Fails if the node did not describe all output files.
    fn files(&self, transfer: &Transfer) -> Result<Vec<StagedFile>, String> {
        let folder = self.at_nodes.join(transfer.number.to_string());
        let is_told = |at| transfer.way == Direction::There || transfer.outputs.len() > at;
        let file = |(at, name): (usize, &Text)| {
            let here = self.here.join(path(name));
            let there = folder.join(path(&path_inside(name))).into_os_string().into_encoded_bytes();
            let output = transfer.outputs.get(at).copied();
            let length = output.map(|output| output.length);
            let length = length.or_else(|| Some(fs::metadata(&here).ok()?.len())).unwrap_or(0);
            is_told(at).then_some(StagedFile { here, there, length, output })
        };
        let files: Option<Vec<_>> = transfer.names.iter().enumerate().map(file).collect();
        files.ok_or_else(|| "protocol error: its agent did not describe the file".to_owned())
    }
}

/// A file to copy.
struct StagedFile {
    here: PathBuf,
    /// The path on the node, as raw bytes.
    there: Vec<u8>,
    length: u64,
    /// The description of an output by its node; `None` for an input.
    output: Option<OutputFile>,
}

/// Divides files into groups, each of which becomes one copy.
fn copies(files: &[StagedFile]) -> Vec<&[StagedFile]> {
    let (mut copies, mut first) = (Vec::new(), 0);
    let (mut length, mut described) = (0_u64, 0);
    for (at, file) in files.iter().enumerate() {
        let path = file.there.len().max(file.here.as_os_str().len());
        (length, described) = (length.saturating_add(file.length), described + path + DESCRIPTION);
        let is_full = at - first == FILES_MAX || length > TOGETHER || described > DESCRIPTIONS;
        if is_full && at > first {
            copies.push(&files[first..at]);
            (first, length, described) = (at, file.length, path + DESCRIPTION);
        }
    }
    copies.extend(Some(&files[first..]).filter(|rest| !rest.is_empty()));
    copies
}

/// A session with a node, for the transfers in one direction. It is opened by the first transfer.
pub struct StagerSession<'a> {
    stager: &'a Stager,
    node: usize,
    session: Option<CopySession>,
}

impl<'a> StagerSession<'a> {
    /// Creates a session with the node with this index; nothing is opened yet.
    pub fn new(stager: &'a Stager, node: usize) -> Self {
        Self { stager, node, session: None }
    }

    /// Reads and discards what the agent has sent while no files were copied.
    pub fn refresh(&mut self) {
        self.session = self.session.take().and_then(CopySession::refresh);
    }

    /// Copies the files of `transfers`, which have the same direction, and sets their results. If
    /// that fails, copies each half of the transfers separately, so that in the end only jobs whose
    /// own files cannot be copied fail.
    pub fn transfer(&mut self, transfers: &mut [Transfer]) {
        let copied = self.copy_all(transfers);
        let why = match copied {
            Ok(()) => {
                for transfer in transfers {
                    transfer.moved = Ok(());
                }
                return;
            }
            Err(why) => why,
        };
        // Without a session each of them would fail for the same reason.
        if transfers.len() > 1 && self.session.is_some() {
            let (first, second) = transfers.split_at_mut(transfers.len() / 2);
            self.transfer(first);
            return self.transfer(second);
        }
        for transfer in transfers {
            transfer.moved = Err(transfer.failed(&why));
        }
    }

    fn copy_all(&mut self, transfers: &mut [Transfer]) -> Result<(), String> {
        let mut files = Vec::new();
        for transfer in transfers.iter_mut() {
            let own = self.stager.files(transfer)?;
            transfer.bytes = own.iter().map(|file| file.length).sum();
            files.extend(own);
        }
        copies(&files).into_iter().try_for_each(|files| self.copy(files))
    }

    fn copy(&mut self, files: &[StagedFile]) -> Result<(), String> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.stager.connect(self.node)?,
        };
        let names = &self.stager.names[self.node..=self.node];
        let outgoing = files.iter().all(|file| file.output.is_none());
        let ends = if outgoing { self.ends_out(files) } else { Ok(ends_in(files)) };
        let planned = ends.and_then(|(ends, length)| {
            let plan = Plan::broadcast(Layout::fitting(length), names, 1);
            let plan = plan.map_err(|error| error.to_string())?;
            Ok((if outgoing { plan } else { plan.reversed() }, ends))
        });
        let (plan, ends) = match planned {
            Ok(planned) => planned,
            Err(why) => {
                self.session = Some(session);
                return Err(why);
            }
        };
        let (result, session) = session.run(&job(&plan, ends));
        self.session = session;
        result
    }

    /// Opens input files. Returns the source and destination of their copy, and its length in
    /// bytes.
    fn ends_out(&self, files: &[StagedFile]) -> Result<(Ends, u64), String> {
        let disk = self.stager.disk.map(|rate| Arc::new(Pace::new(rate)));
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for file in files {
            let source = Source::open(&file.here).map_err(|error| error.to_string())?;
            let mode = source.mode().map_err(|error| reason(&error))?;
            let (path, length, room) = (file.there.clone(), source.length(), source.room());
            targets.push(FileTarget { path, length, mode, room });
            sources.push(source.on_disk(disk.as_ref()));
        }
        let source = join(sources);
        let length = source.length();
        let destination = Destination::Files { files: targets, fsync: false };
        Ok((Ends::Out { source, destination, manifest: None }, length))
    }
}

/// Returns the sources and destination of a copy of output files, and its length in bytes.
fn ends_in(files: &[StagedFile]) -> (Ends, u64) {
    let described = || files.iter().filter_map(|file| Some((file, file.output?)));
    let origin = |(file, output): (&StagedFile, OutputFile)| {
        let OutputFile { length, modified, .. } = output;
        Origin { path: file.there.clone(), length, modified, tree: None }
    };
    let target = |(file, output): (&StagedFile, OutputFile)| {
        let (OutputFile { length, mode, .. }, room) = (output, output.length);
        FileTarget { path: file.here.as_os_str().as_bytes().to_vec(), length, mode, room }
    };
    let targets = described().map(target).collect();
    let destination = Destination::Files { files: targets, fsync: true };
    let origins = vec![described().map(origin).collect()];
    let length = files.iter().map(|file| file.length).sum();
    (Ends::In { origins, destination, digests: Vec::new() }, length)
}

fn job(plan: &Plan, ends: Ends) -> CopyJob<'_> {
    CopyJob {
        plan,
        ends,
        stripes: None,
        known: None,
        pipeline: Pipeline::default(),
        read_back: ReadBack::default(),
        sealed: true,
        packing: Packing::None,
        congestion: tcp::PREFERRED.map(str::to_owned).to_vec(),
        transport: Transport::Tcp,
        policy: Policy::for_nodes(1),
        late: None,
        tracing: None,
        injections: Vec::new(),
    }
}

fn path(name: &Text) -> &Path {
    Path::new(OsStr::from_bytes(name.bytes()))
}
