//! Staging of jobs' files: copies each file with the copy engine, whole or not at all.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use garland_control::stat;
use garland_control::{Agent, CopyJob, Ends, Pipeline, Stager, run_copy};
use garland_core::farm::staging::path_inside;
use garland_core::farm::{Job, Text};
use garland_core::plan::{Layout, Plan};
use garland_dataplane::{Packing, Source};
use garland_protocol::{
    Destination, KeyPair, Origin, Policy, PublicKey, ReadBack, StatRequest, Verdict,
};
use garland_sys::mptcp::Transport;
use garland_sys::tcp;
use garland_transport::connect_agent;

/// Timeout for connecting to an agent.
const CONNECT: Duration = Duration::from_secs(5);

/// Copies files between this machine and nodes.
pub struct Stage {
    keys: KeyPair,
    /// The addresses and the key of each node's agent; none for a node without an agent.
    nodes: Vec<Option<(Vec<SocketAddr>, PublicKey)>>,
    names: Vec<String>,
    /// The directory on nodes that contains the jobs' own directories.
    at_nodes: PathBuf,
    /// The directory on this machine to which the paths of files are relative.
    here: PathBuf,
    /// Bytes per second of this machine's disk, if a lab limits it.
    disk: Option<u64>,
}

impl Stage {
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
            at_nodes: path(at_nodes),
            here: here.to_owned(),
            disk,
        }
    }

    /// Opens a control channel for one copy; the agent's first channel is used for jobs.
    fn connect(&self, node: usize) -> Result<Agent, String> {
        let (addresses, key) = self.nodes[node].as_ref().ok_or("the node has no agent")?;
        let first = *addresses.first().ok_or("the node's agent has no address")?;
        let connection = connect_agent(first, &self.keys, key, CONNECT);
        let connection = connection.map_err(|error| error.to_string())?;
        Ok(Agent { connection, addresses: addresses.clone() })
    }

    /// Returns the path of a job's file on its node.
    fn there(&self, job: &Job, name: &Text) -> PathBuf {
        self.at_nodes.join(job.number.to_string()).join(path(&path_inside(name)))
    }

    fn bring_one(&self, node: usize, job: &Job, name: &Text) -> Result<u64, String> {
        let source =
            Source::open(&self.here.join(path(name))).map_err(|error| error.to_string())?;
        let source = source.on_disk(garland_dataplane::Pace::of(self.disk).as_ref());
        let mode = source.mode().map_err(|error| garland_sys::error::reason(&error))?;
        let length = garland_dataplane::Content::length(&source);
        let plan = Plan::broadcast(Layout::fitting(length), &self.names[node..=node], 1);
        let plan = plan.map_err(|error| error.to_string())?;
        let destination = Destination::File {
            path: self.there(job, name).as_os_str().as_bytes().to_vec(),
            below: None,
            name: Vec::new(),
            mode,
            times: None,
            fsync: false,
            room: source.room(),
            force_device: false,
        };
        let source = Arc::new(source);
        self.copy(&plan, Ends::Out { source, destination, manifest: None }, self.connect(node)?)?;
        Ok(length)
    }

    fn take_one_back(&self, node: usize, job: &Job, name: &Text) -> Result<u64, String> {
        let there = self.there(job, name).as_os_str().as_bytes().to_vec();
        let wanted = StatRequest { path: there.clone(), stripes: false, tree: None };
        let found = stat(vec![Ok(self.connect(node)?)], &wanted, None);
        let found = found.map_err(|error| garland_sys::error::reason(&error))?.pop();
        let (agent, replies) = found.ok_or("the connection to its agent is closed")??;
        let reply = replies.into_iter().next().ok_or("the file does not exist")?;
        let length = reply.length.ok_or("it is not a file")?;
        let plan = Plan::broadcast(Layout::fitting(length), &self.names[node..=node], 1);
        let plan = plan.map_err(|error| error.to_string())?.reversed();
        let here = self.here.join(path(name));
        let destination = Destination::File {
            path: here.as_os_str().as_bytes().to_vec(),
            below: None,
            name: Vec::new(),
            mode: reply.mode,
            times: None,
            fsync: true,
            room: u64::MAX,
            force_device: false,
        };
        let origins = vec![Origin { path: there, length, modified: reply.modified, tree: None }];
        self.copy(&plan, Ends::In { origins, destination, digests: Vec::new() }, agent)?;
        Ok(length)
    }

    fn copy(&self, plan: &Plan, ends: Ends, agent: Agent) -> Result<(), String> {
        let job = CopyJob {
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
        };
        let outcome = run_copy(&job, vec![Ok(agent)], None, &mut |_| {});
        let outcome = outcome.map_err(|error| garland_sys::error::reason(&error))?;
        match outcome.nodes.into_iter().next().map(|node| node.verdict) {
            Some(Verdict::Ok) => Ok(()),
            Some(Verdict::Failed(why) | Verdict::Dead(why)) => Err(why),
            None => Err("the copy has no result".to_owned()),
        }
    }
}

impl Stager for Stage {
    fn bring(&self, node: usize, job: &Job) -> Result<u64, String> {
        let one = |name: &Text| {
            self.bring_one(node, job, name)
                .map_err(|why| format!("cannot copy input {name} to the node: {why}"))
        };
        job.inputs.iter().map(one).sum()
    }

    fn take_back(&self, node: usize, job: &Job) -> Result<u64, String> {
        let one = |name: &Text| {
            self.take_one_back(node, job, name)
                .map_err(|why| format!("cannot copy output {name} back: {why}"))
        };
        job.outputs.iter().map(one).sum()
    }
}

/// Converts a text to a path.
pub fn path(name: &Text) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name.bytes()))
}

/// Returns the total size of a job's inputs on this machine in bytes; their paths are relative to `here`.
pub fn bytes_of_inputs(job: &Job, here: &Path) -> u64 {
    let length = |name: &Text| fs::metadata(here.join(path(name))).map_or(0, |stat| stat.len());
    job.inputs.iter().map(length).sum()
}
