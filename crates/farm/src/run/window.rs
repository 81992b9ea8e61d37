//! Files of this machine for jobs on nodes: an agent here serves them, and each node mounts them on its
//! window.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use garland_control::Agent;
use garland_core::farm::Text;
use garland_mount::MountJob;
use garland_protocol::{KeyPair, Opening, PublicKey};
use garland_sys::signal::Interrupts;
use garland_sys::threads;
use garland_transport::{Connection, connect_agent};

use super::driver::Work;
use garland_fleet::launch::{FAREWELL, LaunchedChild, Orders, Cancellation, local};
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// The name in windows of the machine with the files.
const SERVER: &str = "files";

/// Timeout of connecting to an agent.
const CONNECT: Duration = Duration::from_secs(5);

/// The agent that serves this machine's files until this is dropped.
pub struct Server {
    port: u16,
    key: PublicKey,
    /// The key pair that windows authenticate with.
    keys: KeyPair,
    /// Keeps the agent alive: it ends without a connection.
    hold: Connection,
    child: Option<LaunchedChild>,
}

impl Server {
    /// Starts the agent, which accepts a key that is made for this run only.
    pub fn start(work: &Work<'_>) -> Result<Self, Failure> {
        let keys = KeyPair::generate();
        let orders = Orders {
            controller: keys.public,
            mptcp: false,
            disk: None,
            clock: None,
            stay: None,
            cancellation: Cancellation::by(Some(Arc::clone(work.interrupts))),
        };
        let log = work.run.folder().join("files.log");
        let launched = local::launch(SERVER, Path::new("/"), &orders, &log);
        let launched = launched.or_nothing("giving this machine's files")?;
        let (port, key) = (launched.ready.port, launched.ready.key);
        let address = (launched.addresses[0], port).into();
        let hold = connect_agent(address, &keys, &key, CONNECT);
        let hold = hold.or_nothing("giving this machine's files")?;
        Ok(Self { port, key, keys, hold, child: launched.child })
    }

    /// The order to open a window on the node of `agent`, at the address by which that agent sees this machine.
    pub fn opening(&self, agent: &Agent, folder: &Text) -> Option<Opening> {
        let address = agent.connection.own_address().ok()?.ip();
        Some(Opening {
            folder: folder.clone(),
            address: (address, self.port).into(),
            key: self.key,
            keys: [self.keys.private, self.keys.public],
        })
    }

    /// Ends the agent.
    pub fn end(self) {
        drop(self.hold);
        if let Some(mut child) = self.child {
            child.close_input();
            let patience = u64::try_from(FAREWELL.as_nanos()).unwrap_or(u64::MAX >> 1);
            child.end(garland_sys::clock::now_ns() + patience);
        }
    }
}

/// The root of this machine's files in a window at `folder`.
pub fn files_in(folder: &Text) -> Text {
    Text([folder.bytes(), b"/", SERVER.as_bytes()].concat())
}

/// The process of a window: mounts on `dir` what the order on standard input says, and serves the mount until
/// standard input ends.
pub fn serve(dir: &Path) -> Result<Exit, Failure> {
    let interrupts = Interrupts::catch().or_nothing("waiting for the end")?;
    let mut told = [0; Opening::TOLD];
    std::io::stdin().read_exact(&mut told).or_nothing("reading what to mount")?;
    let (address, key, keys) =
        Opening::heard(&told).ok_or_else(|| Failure::usage("that is no order to mount"))?;
    let reach = move |_| {
        let connection = connect_agent(address, &keys, &key, CONNECT);
        let connection = connection.map_err(|error| error.to_string())?;
        Ok(Agent { connection, addresses: vec![address] })
    };
    let job = MountJob {
        dir: dir.to_owned(),
        names: vec![SERVER.to_owned()],
        here: None,
        reach: Arc::new(reach),
        sealed: true,
        emulated: false,
    };
    let mounted = garland_mount::mount(job).map_err(Failure::nothing)?;
    let at: PathBuf = mounted.dir().to_owned();
    let begun = threads::spawn("controller", move || {
        let mut nothing = [0; 64];
        while !matches!(std::io::stdin().read(&mut nothing), Ok(0) | Err(_)) {}
        // This ends the serving, which reports errors.
        let _ = garland_mount::unmount(&at);
    });
    begun.or_nothing("watching the farm's controller")?;
    let ready = || garland_terminal::outln!("mounted");
    // The activity of jobs is in the farm's records.
    mounted.serve(&interrupts, ready, |_| {}).map_err(Failure::nothing)?;
    Ok(Exit::Done)
}
