//! A copy in a simulated world: the head's driver and real agents, each a process with a directory
//! of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garland_agent::AgentConfig;
use garland_control::{Agent, CopyJob, Ends, Outcome, Pipeline, Progress, run_copy};
use garland_core::cluster::listen::{ListenAt, Ports};
use garland_core::plan::{Layout, Manifest, NodeId, Plan, StripeServer, Stripes};
use garland_dataplane::block_index::Records;
use garland_dataplane::compress::Packing;
use garland_dataplane::source::Source;
use garland_dataplane::tree::{ScanOptions, TreeSource};
use garland_protocol::copy::{
    Destination, Injection, KeptStatus, NodeState, Origin, Policy, ReadBack, TreeDestination,
    TreeLimits,
};
use garland_protocol::farm::FarmAccess;
use garland_protocol::wire::KeyPair;
use garland_sys::channel::channel;
use garland_sys::clock;
use garland_sys::confine::Root;
use garland_sys::mptcp::Transport;
use garland_sys::threads::sleep;
use garland_sys::world::{self, Process, Random, Wires};
use garland_testkit::Scratch;
use garland_transport::connection::connect_agent;

use crate::hostile;
use crate::liar::{self, Lie, Victim};

/// The port of every agent.
pub const PORT: u16 = 7000;

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

/// The destination of hostile trees.
pub const DEST: &str = "dest";

/// How long a liar may hold up a copy until somebody ends it.
const LIAR: Duration = Duration::from_secs(100);

/// A copy of a file to nodes.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed of the world, and of the file's contents.
    pub seed: u64,
    /// The number of nodes.
    pub nodes: usize,
    /// The length of all files together in bytes.
    pub length: u64,
    /// The number of lanes.
    pub rails: u16,
    /// What is copied where.
    pub kind: Kind,
    /// Whether an earlier copy has put older files in place, which this one replaces.
    pub has_older: bool,
    /// A node that lies, and what about.
    pub liar: Option<(usize, Lie)>,
    /// Faults that are injected into a node.
    pub injections: Vec<(NodeId, Injection)>,
}

/// What is copied where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file from the head to all nodes.
    File,
    /// A directory with this many files from the head to all nodes.
    Tree(u16),
    /// A file in stripes, one to each node.
    Stripes,
    /// A file from the only node to the head.
    Gather,
    /// The stream of a hostile tree: from the only node to the head, or from the head to all nodes.
    Hostile {
        /// Whether the node is the source.
        gathers: bool,
    },
}

impl Kind {
    /// Returns whether the node is the source.
    fn gathers(self) -> bool {
        matches!(self, Self::Gather | Self::Hostile { gathers: true })
    }
}

/// Something that the head decided.
#[derive(Clone, Debug)]
pub struct Event {
    /// The time since the beginning of the copy.
    pub at: Duration,
    /// What it decided, as a sentence.
    pub text: String,
}

/// What the head decided so far.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    /// Removes and returns all events.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().expect("no event panics"))
    }

    fn add(&self, began_ns: u64, text: String) {
        let at = Duration::from_nanos(clock::now_ns() - began_ns);
        self.0.lock().expect("no event panics").push(Event { at, text });
    }
}

/// A copy that has ended.
pub struct Ended {
    /// The result of the head; `None` if the head was killed before.
    pub outcome: Option<Outcome>,
    /// The directories that the files should be in: those of the nodes, or that of the head.
    pub folders: Vec<PathBuf>,
    /// The files that should be in every directory.
    pub files: Files,
    /// What was outside of the destination of a hostile tree before.
    pub outside: Files,
    /// The time from the start of the copy to its result, in the world.
    pub took: Duration,
    _scratch: Scratch,
}

impl Ended {
    /// Returns the directory in which all processes have theirs.
    pub fn scratch(&self) -> &Path {
        self.folders[0].parent().expect("the scratch directory")
    }
}

/// Files by their path in a directory.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The processes of a copy.
#[derive(Clone, Debug)]
pub struct Cast {
    /// The process that runs the copy.
    pub head: Process,
    /// The agents, in the order of the plan.
    pub nodes: Vec<Process>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.length;
        let nodes = self.nodes;
        let rails = self.rails;
        match self.kind {
            Kind::File => write!(f, "a file of {length} bytes goes to {nodes} nodes"),
            Kind::Tree(files) => {
                write!(f, "{files} files of {length} bytes go to {nodes} nodes")
            }
            Kind::Stripes => write!(f, "a file of {length} bytes goes to {nodes} nodes in stripes"),
            Kind::Gather => write!(f, "a file of {length} bytes comes from a node"),
            Kind::Hostile { gathers } => {
                let way = if gathers { "from" } else { "to" };
                write!(f, "a hostile tree of {length} bytes goes {way} {nodes} nodes")
            }
        }?;
        write!(f, " over {rails} rails")?;
        if self.has_older {
            write!(f, " in place of an older one")?;
        }
        for (node, injection) in &self.injections {
            write!(f, "; injected into n{}: {injection:?}", node.0)?;
        }
        match self.liar {
            Some((node, lie)) => write!(f, "; n{} lies about {lie:?}", node + 1),
            None => Ok(()),
        }
    }
}

impl Case {
    /// Returns a copy of a file of `length` bytes to `nodes` nodes that have none.
    pub fn of_file(seed: u64, nodes: usize, length: u64) -> Self {
        let rails = 1;
        let kind = Kind::File;
        let has_older = false;
        Self { seed, nodes, length, rails, kind, has_older, liar: None, injections: Vec::new() }
    }

    /// Runs the copy. Calls `upset` when it begins, in a process of its own, which may pause, kill
    /// or cut off the others.
    pub fn run(&self, upset: impl FnOnce(&Cast) + Send + 'static) -> Ended {
        self.run_with(Log::default(), upset)
    }

    /// Runs the copy as [`Self::run`], and logs what the head decides.
    pub fn run_with(&self, log: Log, upset: impl FnOnce(&Cast) + Send + 'static) -> Ended {
        let scratch = Scratch::in_memory("world");
        let mut random = Random::new(self.seed);
        let files = self.files(&mut random);
        let names = (0..=self.nodes).map(|node| scratch.path(format!("n{node}")));
        let mut folders: Vec<PathBuf> = names.collect();
        for folder in &folders {
            fs::create_dir(folder).expect("a process's directory");
        }
        let has_source = folders[usize::from(self.kind.gathers())].join(SOURCE);
        let wires =
            Wires { latency_ns: 20_000, jitter_ns: random.below(2_000_000), rate: 100_000_000 };
        if self.has_older {
            write(&has_source, files.iter().map(|(path, contents)| (path, older(contents))));
            let case = Self { liar: None, injections: Vec::new(), ..self.clone() };
            let its = folders.clone();
            // With random numbers of its own.
            world::run(!self.seed, wires, move || case.watch(&its, Log::default(), |_| ()));
        }
        write(&has_source, files.iter().map(|(path, contents)| (path, contents.clone())));
        let outside = match self.kind {
            Kind::Hostile { .. } => hostile::beside(&folders),
            _ => Files::new(),
        };
        let case = self.clone();
        let its = folders.clone();
        let (outcome, took) = world::run(self.seed, wires, move || {
            // Later than the older file.
            sleep(Duration::from_secs(30));
            case.watch(&its, log, upset)
        });
        match self.kind {
            _ if self.kind.gathers() => folders.truncate(1),
            _ => drop(folders.remove(0)),
        }
        Ended { outcome, folders, files, outside, took, _scratch: scratch }
    }

    /// Draws the files: one, or those of a tree with directories of a few files each.
    fn files(&self, random: &mut Random) -> Files {
        let mut bytes = |length| (0..length).map(|_| random.bits() as u8).collect();
        match self.kind {
            Kind::File | Kind::Stripes | Kind::Gather => [(NAME.into(), bytes(self.length))].into(),
            Kind::Hostile { .. } => [(NAME.into(), hostile::stream(self.seed))].into(),
            Kind::Tree(count) => {
                let each = self.length / u64::from(count) * 2;
                let path = |number| PathBuf::from(format!("{NAME}/d{}/f{number}", number / 5));
                // The first are empty, the last are long.
                let file = |number| {
                    let length = each * u64::from(number) / u64::from(count);
                    (path(number), bytes(length))
                };
                (0..count).map(file).collect()
            }
        }
    }

    /// Starts all processes, and waits for the copy's result.
    fn watch(
        &self,
        folders: &[PathBuf],
        log: Log,
        upset: impl FnOnce(&Cast) + Send + 'static,
    ) -> (Option<Outcome>, Duration) {
        let ours = KeyPair::generate();
        let (own, folders) = folders.split_first().expect("the head's directory");
        let keys: Vec<KeyPair> = folders.iter().map(|_| KeyPair::generate()).collect();
        let started = folders.iter().zip(&keys).map(|(folder, keys)| agent(folder, keys, &ours));
        let mut nodes: Vec<Process> = started.collect();
        if let Some((node, lie)) = self.liar {
            let others = nodes.iter().enumerate().filter(|(at, _)| *at != node);
            let others = others.map(|(_, other)| SocketAddr::from((other.address(), PORT)));
            let victim = Victim {
                address: nodes[node].address(),
                others: others.collect(),
                keys: keys[node].clone(),
                head: ours.clone(),
            };
            nodes[node] = liar::start(lie, self.seed, victim);
        }
        // They open their ports.
        sleep(Duration::from_millis(5));
        let addresses = nodes.iter().map(|node| SocketAddr::from((node.address(), PORT)));
        let agents: Vec<_> = addresses.zip(keys.iter().map(|keys| keys.public)).collect();
        let (tell, told) = channel();
        let case = self.clone();
        let head_folder = own.clone();
        let own = own.clone();
        let began_ns = clock::now_ns();
        let its = log.clone();
        let head = Process::start("head", move || {
            let agents = agents.into_iter().map(|(address, key)| {
                let connection = connect_agent(address, &ours, &key, PATIENCE);
                let connection = connection.map_err(|error| error.to_string())?;
                Ok(Agent { connection, addresses: vec![address; usize::from(case.rails)] })
            });
            let agents = agents.collect();
            // Fails if nobody waits for it any more.
            let _ = tell.send(case.copy(&own, agents, &its));
        });
        let cast = Cast { head: head.expect("a process"), nodes };
        cast.head.set_folder(head_folder);
        let its = cast.clone();
        Process::start("fate", move || upset(&its)).expect("a process");
        let mut outcome = told.recv_timeout(if self.liar.is_some() { LIAR } else { LONGEST }).ok();
        if let (None, Some((node, _))) = (&outcome, self.liar) {
            log.add(began_ns, format!("n{} is ended by its user", node + 1));
            cast.nodes[node].kill();
            outcome = told.recv_timeout(LONGEST).ok();
        }
        let took = Duration::from_nanos(clock::now_ns() - began_ns);
        assert!(outcome.is_some() || cast.head.is_gone(), "the copy hangs: {self:?}");
        sleep(AFTERWARDS);
        (outcome, took)
    }

    /// Returns the source and the destination. `own` is the head's directory.
    fn ends(&self, own: &Path) -> Ends {
        let source = own.join(SOURCE).join(NAME);
        match self.kind {
            Kind::File => {
                let source = Source::open(&source).expect("the source");
                let destination = self.file(NAME.into());
                Ends::Out { source: Arc::new(source), destination, manifest: None }
            }
            Kind::Stripes => {
                let source = Source::open(&source).expect("the source");
                let stripes = self.stripes();
                let server = |node| StripeServer { name: format!("n{node}"), digest: [0; 32] };
                let manifest = Manifest {
                    set: garland_sys::random::bytes(),
                    written: (clock::wall_ns() / 1_000_000_000) as i64,
                    name: NAME.to_owned(),
                    mode: 0o644,
                    modified: (0, 0),
                    stripes,
                    layout: stripes.layout(BLOCK).expect("a layout"),
                    servers: (1..=self.nodes).map(server).collect(),
                    number: 0,
                };
                let source = Arc::new(source);
                let destination = self.file(NAME.into());
                Ends::Out { source, destination, manifest: Some(manifest) }
            }
            Kind::Tree(_) => {
                let options = ScanOptions {
                    excludes: Vec::new(),
                    attributes: false,
                    sweep: false,
                    one_file_system: false,
                    root: &Root::Free,
                    stop: &|| false,
                };
                let source = TreeSource::open(&[source], &options).expect("the source");
                Ends::Out {
                    source: Arc::new(source),
                    destination: tree(b".".into()),
                    manifest: None,
                }
            }
            Kind::Hostile { gathers: false } => {
                let source = Source::open(&source).expect("the source");
                let destination = tree(DEST.into());
                Ends::Out { source: Arc::new(source), destination, manifest: None }
            }
            Kind::Gather | Kind::Hostile { gathers: true } => {
                let folder = own.parent().expect("the scratch directory").join("n1");
                let stat = fs::metadata(folder.join(SOURCE).join(NAME)).expect("the source");
                let modified = (stat.mtime(), stat.mtime_nsec() as u32);
                let path = format!("{SOURCE}/{NAME}").into();
                let origin = Origin { path, length: self.length, modified, tree: None };
                let path = |name| own.join(name).into_os_string().into_encoded_bytes();
                let destination = match self.kind {
                    Kind::Gather => self.file(path(NAME)),
                    _ => tree(path(DEST)),
                };
                Ends::In { origins: vec![vec![origin]], destination, digests: Vec::new() }
            }
        }
    }

    fn stripes(&self) -> Stripes {
        Stripes::new(self.length, BLOCK.into(), self.nodes).expect("stripes")
    }

    fn file(&self, path: Vec<u8>) -> Destination {
        Destination::File {
            path,
            below: None,
            name: NAME.into(),
            mode: 0o644,
            keeps_mode: false,
            times: None,
            fsync: true,
            room: self.length,
            grows: false,
            force_device: false,
        }
    }

    /// Runs the copy as the head. `own` is its directory.
    fn copy(&self, own: &Path, agents: Vec<Result<Agent, String>>, log: &Log) -> Outcome {
        let ends = self.ends(own);
        let length = match &ends {
            Ends::Out { source, .. } => source.length(),
            Ends::In { .. } => self.length,
        };
        let layout = Layout::new(length, BLOCK).expect("a layout");
        let names: Vec<String> = (1..=self.nodes).map(|node| format!("n{node}")).collect();
        let policy = Policy::for_nodes(self.nodes);
        let (plan, stripes, policy) = match self.kind {
            Kind::File | Kind::Tree(_) | Kind::Hostile { gathers: false } => {
                (Plan::broadcast(layout, &names, self.rails), None, policy)
            }
            Kind::Gather | Kind::Hostile { gathers: true } => {
                let plan = Plan::broadcast(layout, &names, self.rails);
                (plan.map(Plan::reversed), None, policy)
            }
            Kind::Stripes => {
                let stripes = self.stripes();
                let plan = Plan::striped(layout, stripes, &names, self.rails);
                (plan, Some(stripes), policy.striped())
            }
        };
        let plan = plan.expect("a plan");
        let job = CopyJob {
            plan: &plan,
            ends,
            stripes,
            known: None,
            pipeline: Pipeline::default(),
            read_back: ReadBack::default(),
            sealed: true,
            packing: Packing::None,
            congestion: Vec::new(),
            transport: Transport::Tcp,
            policy,
            reached: None,
            late: None,
            tracing: None,
            injections: self.injections.clone(),
        };
        let began_ns = clock::now_ns();
        let mut known = vec![NodeState::Joining; self.nodes + 1];
        let observe = &mut |progress: &Progress<'_>| {
            for ((at, state), known) in progress.head.states().enumerate().skip(1).zip(&mut known) {
                if state != known {
                    log.add(began_ns, format!("the head: n{at} is {}", said(state)));
                    *known = state.clone();
                }
            }
        };
        run_copy(&job, agents, None, observe).expect("the copy runs").0
    }
}

fn said(state: &NodeState) -> String {
    match state {
        NodeState::Failed(reason) => format!("failed: {reason}"),
        NodeState::Dead(reason) => format!("dead: {reason}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn tree(path: Vec<u8>) -> Destination {
    let limits = TreeLimits::default();
    Destination::Tree(TreeDestination {
        path,
        below: None,
        fsync: true,
        verify: false,
        keeps: KeptStatus::default(),
        limits,
    })
}

/// Returns the contents that a file had before.
pub fn older(contents: &[u8]) -> Vec<u8> {
    contents.iter().map(|byte| !byte).collect()
}

/// Writes files below a directory.
fn write<'a>(folder: &Path, files: impl Iterator<Item = (&'a PathBuf, Vec<u8>)>) {
    for (path, contents) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, contents).expect("a source");
    }
}

/// Starts the agent of a node.
pub fn agent(folder: &Path, keys: &KeyPair, head: &KeyPair) -> Process {
    let config = AgentConfig {
        root: Some(folder.to_owned()),
        controllers: vec![head.public],
        farm: FarmAccess::default(),
        listen: vec![ListenAt::ALL],
        reached: Vec::new(),
        ports: Ports::from_bounds(PORT, PORT).expect("a port"),
        keys: Some(keys.clone()),
        stay: Some(Duration::from_secs(3000)),
        max_life: None,
        disk: None,
        records: Records::default(),
        names: None,
        cluster_key: None,
        syslog: false,
        program: || Ok(Box::new(std::io::empty())),
        transport: Transport::Tcp,
    };
    let serve = || garland_agent::serve(config, |_| Ok(())).expect("the agent serves");
    let process = Process::start("agent", serve).expect("a process");
    process.set_folder(folder.to_owned());
    process
}
