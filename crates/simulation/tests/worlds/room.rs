//! A copy in a simulated world: the head's driver and real agents, each a process with a directory
//! of its own.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use garland_agent::AgentConfig;
use garland_control::{Agent, CopyJob, Ends, Outcome, Pipeline, run_copy};
use garland_core::plan::{Layout, Plan};
use garland_dataplane::block_index::Records;
use garland_dataplane::compress::Packing;
use garland_dataplane::source::Source;
use garland_protocol::{Destination, KeyPair, Origin, Policy, ReadBack};
use garland_sys::channel::channel;
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::threads::sleep;
use garland_sys::world::{self, Process, Random, Wires};
use garland_testkit::Scratch;
use garland_transport::connection::connect_agent;

/// The port of every agent.
const PORT: u16 = 7000;

/// The block size of all copies in bytes.
const BLOCK: u32 = 64 << 10;

/// How long the head tries to reach an agent.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time after which a copy counts as hanging.
const LONGEST: Duration = Duration::from_secs(300);

/// How long agents have to end their part after the head's end.
const AFTERWARDS: Duration = Duration::from_secs(20);

/// The name of the source.
const SOURCE: &str = "source";

/// The name of the file at the destination.
pub const NAME: &str = "file";

/// A copy of a file to nodes.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed of the world, and of the file's contents.
    pub seed: u64,
    /// The number of nodes.
    pub nodes: usize,
    /// The length of the file in bytes.
    pub length: u64,
    /// The number of lanes.
    pub rails: u16,
    /// The direction of the copy.
    pub direction: Direction,
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the head to all nodes.
    Out,
    /// From the only node to the head.
    In,
}

/// A copy that has ended.
pub struct Ended {
    /// The result of the head; `None` if the head was killed before.
    pub outcome: Option<Outcome>,
    /// The directories that the file should be in: those of the nodes, or that of the head.
    pub folders: Vec<PathBuf>,
    /// The contents that every node should have.
    pub contents: Vec<u8>,
    /// The time from the start of the copy to its result, in the world.
    pub took: Duration,
    _scratch: Scratch,
}

/// The processes of a copy.
#[derive(Clone, Debug)]
pub struct Cast {
    /// The process that runs the copy.
    pub head: Process,
    /// The agents, in the order of the plan.
    pub nodes: Vec<Process>,
}

impl Case {
    /// Runs the copy. Calls `upset` when it begins, in a process of its own, which may pause, kill
    /// or cut off the others.
    pub fn run(&self, upset: impl FnOnce(&Cast) + Send + 'static) -> Ended {
        let scratch = Scratch::in_memory("world");
        let mut random = Random::new(self.seed);
        let contents: Vec<u8> = (0..self.length).map(|_| random.bits() as u8).collect();
        let names = (0..=self.nodes).map(|node| scratch.path(format!("n{node}")));
        let mut folders: Vec<PathBuf> = names.collect();
        for folder in &folders {
            fs::create_dir(folder).expect("a process's directory");
        }
        let has_source = &folders[usize::from(self.direction == Direction::In)];
        fs::write(has_source.join(SOURCE), &contents).expect("the source");
        let wires =
            Wires { latency_ns: 20_000, jitter_ns: random.below(2_000_000), rate: 100_000_000 };
        let (case, its) = (self.clone(), folders.clone());
        let (outcome, took) = world::run(self.seed, wires, move || case.watch(&its, upset));
        match self.direction {
            Direction::Out => drop(folders.remove(0)),
            Direction::In => folders.truncate(1),
        }
        Ended { outcome, folders, contents, took, _scratch: scratch }
    }

    /// Starts all processes, and waits for the copy's result.
    fn watch(
        &self,
        folders: &[PathBuf],
        upset: impl FnOnce(&Cast) + Send + 'static,
    ) -> (Option<Outcome>, Duration) {
        let ours = KeyPair::generate();
        let (own, folders) = folders.split_first().expect("the head's directory");
        let keys: Vec<KeyPair> = folders.iter().map(|_| KeyPair::generate()).collect();
        let started = folders.iter().zip(&keys).map(|(folder, keys)| agent(folder, keys, &ours));
        let nodes: Vec<Process> = started.collect();
        // They open their ports.
        sleep(Duration::from_millis(5));
        let addresses = nodes.iter().map(|node| SocketAddr::from((node.address(), PORT)));
        let agents: Vec<_> = addresses.zip(keys.iter().map(|keys| keys.public)).collect();
        let (tell, told) = channel();
        let (case, own) = (self.clone(), own.clone());
        let began_ns = clock::now_ns();
        let head = Process::start("head", move || {
            let agents = agents.into_iter().map(|(address, key)| {
                let connection = connect_agent(address, &ours, &key, PATIENCE);
                let connection = connection.map_err(|error| error.to_string())?;
                Ok(Agent { connection, addresses: vec![address; usize::from(case.rails)] })
            });
            let agents = agents.collect();
            // Fails if nobody waits for it any more.
            let _ = tell.send(case.copy(&own, agents));
        });
        let cast = Cast { head: head.expect("a process"), nodes };
        let its = cast.clone();
        Process::start("fate", move || upset(&its)).expect("a process");
        let outcome = told.recv_timeout(LONGEST).ok();
        let took = Duration::from_nanos(clock::now_ns() - began_ns);
        assert!(outcome.is_some() || cast.head.is_gone(), "the copy hangs: {self:?}");
        sleep(AFTERWARDS);
        (outcome, took)
    }

    /// Returns the source and the destination. `own` is the head's directory.
    fn ends(&self, own: &Path) -> Ends {
        let path = match self.direction {
            Direction::Out => NAME.into(),
            Direction::In => own.join(NAME).into_os_string().into_encoded_bytes(),
        };
        let destination = Destination::File {
            path,
            below: None,
            name: NAME.into(),
            mode: 0o644,
            times: None,
            fsync: true,
            room: self.length,
            force_device: false,
        };
        match self.direction {
            Direction::Out => {
                let source = Source::open(&own.join(SOURCE)).expect("the source");
                Ends::Out { source: Arc::new(source), destination, manifest: None }
            }
            Direction::In => {
                let path = own.parent().expect("the scratch directory").join("n1").join(SOURCE);
                let stat = fs::metadata(path).expect("the source");
                let modified = (stat.mtime(), stat.mtime_nsec() as u32);
                let path = SOURCE.into();
                let origin = Origin { path, length: self.length, modified, tree: None };
                Ends::In { origins: vec![vec![origin]], destination, digests: Vec::new() }
            }
        }
    }

    /// Runs the copy as the head. `own` is its directory.
    fn copy(&self, own: &Path, agents: Vec<Result<Agent, String>>) -> Outcome {
        let layout = Layout::new(self.length, BLOCK).expect("a layout");
        let names: Vec<String> = (1..=self.nodes).map(|node| format!("n{node}")).collect();
        let plan = Plan::broadcast(layout, &names, self.rails).expect("a plan");
        let plan = if self.direction == Direction::In { plan.reversed() } else { plan };
        let job = CopyJob {
            plan: &plan,
            ends: self.ends(own),
            stripes: None,
            known: None,
            pipeline: Pipeline::default(),
            read_back: ReadBack::default(),
            sealed: true,
            packing: Packing::None,
            congestion: Vec::new(),
            transport: Transport::Tcp,
            policy: Policy::for_nodes(self.nodes),
            late: None,
            tracing: None,
            injections: Vec::new(),
        };
        run_copy(&job, agents, None, &mut |_| ()).expect("the copy runs")
    }
}

/// Starts the agent of a node.
fn agent(folder: &Path, keys: &KeyPair, head: &KeyPair) -> Process {
    let config = AgentConfig {
        root: Some(folder.to_owned()),
        controllers: vec![head.public],
        port: PORT,
        keys: Some(keys.clone()),
        stay: Some(Duration::from_secs(3000)),
        disk: None,
        records: Records::default(),
        transport: Transport::Tcp,
    };
    let serve = || garland_agent::serve(config, |_| Ok(())).expect("the agent serves");
    Process::start("agent", serve).expect("a process")
}
