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
use garland_dataplane::compress::Packing;
use garland_dataplane::pace::Pace;
use garland_dataplane::source::{Content, Source, join};
use garland_protocol::copy::{Destination, FileTarget, Origin, Policy, ReadBack};
use garland_protocol::farm::OutputFile;
use garland_protocol::farm::dispatch::{Batch, Transfer, TransferFailure, copies};
use garland_protocol::wire::{KeyPair, PublicKey};
use garland_sys::error::reason;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;
use garland_sys::tcp;
use garland_transport::connection::connect_agent;

use crate::copy::{Agent, CopyJob, CopySession, Ends, Pipeline};

/// Timeout for connecting to an agent.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time in nanoseconds after which a transfer is given up in which no byte moves: its job goes
/// to another node. A very slow disk finishes a call in this time.
const IDLE_NS: u64 = 120_000_000_000;

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
    /// The directory on this machine for the state files of jobs that move.
    states: PathBuf,
    /// The rate of this machine's disk in bytes per second, if a lab limits it.
    disk: Option<u64>,
}

impl Stager {
    /// Creates a stager between the directory `here` on this machine and `at_nodes` on nodes. State
    /// files of jobs that move are in `states` on this machine, which must exist if jobs have some.
    pub fn new(
        keys: KeyPair,
        agents: &[Result<Agent, String>],
        names: &[String],
        at_nodes: &Text,
        here: &Path,
        states: &Path,
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
            states: states.to_owned(),
            disk,
        }
    }

    /// Opens a control channel for copies; the agent's first channel is used for jobs.
    fn connect(&self, node: usize) -> Result<CopySession, TransferFailure> {
        let failed = |why: &str| TransferFailure::Node(why.to_owned());
        let agent = self.nodes[node].as_ref();
        let (addresses, key) = agent.ok_or_else(|| failed("the node has no agent"))?;
        let first = addresses.first().ok_or_else(|| failed("the node's agent has no address"))?;
        let connection = connect_agent(*first, &self.keys, key, CONNECT_TIMEOUT);
        let connection = connection.map_err(|error| failed(&error.to_string()))?;
        Ok(CopySession::new(Agent { connection, addresses: addresses.clone() }))
    }

    /// Returns the files of a transfer.
    fn files(&self, transfer: &Transfer) -> Vec<StagedFile> {
        let folder = self.at_nodes.join(transfer.number.to_string());
        let own = transfer.names.iter().map(|name| (self.here.join(path(name)), name));
        let state = |at: usize| self.states.join(format!("{}-{at}", transfer.number));
        let saved = transfer.state.iter().enumerate().map(|(at, name)| (state(at), name));
        let file = |(at, (here, name)): (usize, (PathBuf, &Text))| {
            let there = folder.join(path(&path_inside(name))).into_os_string().into_encoded_bytes();
            let output = transfer.outputs.get(at).copied();
            let length = output.map(|output| output.length);
            let length = length.or_else(|| Some(fs::metadata(&here).ok()?.len())).unwrap_or(0);
            StagedFile { here, there, length, output }
        };
        own.chain(saved).enumerate().map(file).collect()
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

/// A session with a node, for the transfers in one direction. It is opened by the first transfer.
pub struct StagerSession<'a> {
    stager: &'a Stager,
    node: usize,
    session: Option<CopySession>,
    /// Raised when nobody waits for the transfers any more. A node may hold up a copy for good.
    cancellation: Arc<Interrupts>,
}

impl<'a> StagerSession<'a> {
    /// Creates a session with the node with this index; nothing is opened yet. Its copies end when
    /// `cancellation` is raised.
    pub fn new(stager: &'a Stager, node: usize, cancellation: Arc<Interrupts>) -> Self {
        Self { stager, node, session: None, cancellation }
    }

    /// Reads and discards what the agent has sent while no files were copied.
    pub fn refresh(&mut self) {
        self.session = self.session.take().and_then(CopySession::refresh);
    }

    /// Copies the files of a batch's transfers, as the batch decides.
    pub fn transfer(&mut self, batch: &mut Batch) {
        while let Some(transfers) = batch.due() {
            let files: Vec<Vec<StagedFile>> =
                transfers.iter().map(|transfer| self.stager.files(transfer)).collect();
            let lengths = files.iter().map(|files| total(files)).collect();
            let copied = self.copy_all(&files.into_iter().flatten().collect::<Vec<_>>());
            batch.tried(copied.map(|()| lengths));
        }
    }

    fn copy_all(&mut self, files: &[StagedFile]) -> Result<(), TransferFailure> {
        let size =
            |file: &StagedFile| (file.length, file.there.len().max(file.here.as_os_str().len()));
        copies(files.iter().map(size)).into_iter().try_for_each(|range| self.copy(&files[range]))
    }

    fn copy(&mut self, files: &[StagedFile]) -> Result<(), TransferFailure> {
        if self.cancellation.have_come() {
            return Err(TransferFailure::Node("the run needs it no longer".to_owned()));
        }
        let session = match self.session.take() {
            Some(session) => session,
            None => self.stager.connect(self.node)?,
        };
        let names = &self.stager.names[self.node..=self.node];
        let outgoing = files.iter().all(|file| file.output.is_none());
        let ends = if outgoing { self.ends_out(files) } else { Ok(ends_in(files)) };
        let planned = ends.and_then(|(ends, length)| {
            // A node tells how long its outputs are.
            let layout = Layout::fitting(length).checked().map_err(|error| error.to_string())?;
            let plan = Plan::broadcast(layout, names, 1).map_err(|error| error.to_string())?;
            Ok((if outgoing { plan } else { plan.reversed() }, ends))
        });
        let (plan, ends) = match planned {
            Ok(planned) => planned,
            Err(why) => {
                self.session = Some(session);
                return Err(TransferFailure::Files(why));
            }
        };
        let (result, session) = session.run(&job(&plan, ends), &self.cancellation);
        self.session = session;
        result
    }

    /// Opens input files. Returns the source and destination of their copy, and its length in
    /// bytes.
    fn ends_out(&self, files: &[StagedFile]) -> Result<(Ends, u64), String> {
        let disk = self.stager.disk.map(|rate| Arc::new(Pace::new(rate)));
        let mut sources = Vec::new();
        let mut targets = Vec::new();
        for file in files {
            let source = Source::open(&file.here).map_err(|error| error.to_string())?;
            let mode = source.mode().map_err(|error| reason(&error))?;
            let path = file.there.clone();
            let length = source.length();
            let room = source.room();
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
    // No room is taken for bytes that have not come: one node's word would take it from all others.
    let target = |(file, output): (&StagedFile, OutputFile)| FileTarget {
        path: file.here.as_os_str().as_bytes().to_vec(),
        length: output.length,
        mode: output.mode,
        room: 0,
    };
    let targets = described().map(target).collect();
    let destination = Destination::Files { files: targets, fsync: true };
    let origins = vec![described().map(origin).collect()];
    let length = total(files);
    (Ends::In { origins, destination, digests: Vec::new() }, length)
}

/// Returns the bytes of all files together.
fn total(files: &[StagedFile]) -> u64 {
    files.iter().fold(0, |sum, file| sum.saturating_add(file.length))
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
        policy: Policy::for_nodes(1).with_idle_after(IDLE_NS),
        reached: None,
        late: None,
        tracing: None,
        injections: Vec::new(),
    }
}

fn path(name: &Text) -> &Path {
    Path::new(OsStr::from_bytes(name.bytes()))
}
