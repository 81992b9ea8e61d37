//! A window: the head's files, mounted on a node for the jobs of a farm.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use garland_control::Agent;
use garland_mount::MountJob;
use garland_protocol::farm::Opening;
use garland_sys::signal::Interrupts;
use garland_sys::{dumpable, inherited, threads};
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_transport::connection::connect_agent;

/// Timeout for connecting to the head's agent.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a window: reads an order from standard input, mounts the files on `dir`, and serves the
/// mount until standard input ends.
pub fn serve(dir: &Path) -> Result<Exit, Failure> {
    // Jobs run as the same user, and the node's key is in memory.
    dumpable::hide().or_nothing("cannot protect the memory of the window from jobs")?;
    let interrupts = Interrupts::catch().or_nothing("cannot catch signals")?;
    let mut order = [0; Opening::TOLD];
    let mut stdin = inherited::input().or_nothing("cannot read the mount order")?;
    let read = stdin.read_exact(&mut order);
    read.or_nothing("cannot read the mount order from standard input")?;
    let (address, key, keys) = Opening::heard(&order)
        .ok_or_else(|| Failure::usage("invalid mount order on standard input"))?;
    let reach = move |_| {
        let connection = connect_agent(address, &keys, &key, CONNECT_TIMEOUT);
        let connection = connection.map_err(|error| error.to_string())?;
        Ok(Agent { connection, addresses: vec![address] })
    };
    let job = MountJob {
        dir: dir.to_owned(),
        names: vec![Opening::FILES.to_owned()],
        here: None,
        reach: Arc::new(reach),
        sealed: true,
        emulated: false,
    };
    let mounted = garland_mount::mount(job).map_err(Failure::nothing)?;
    let at: PathBuf = mounted.dir().to_owned();
    let begun = threads::spawn("controller", move || {
        let mut nothing = [0; 64];
        while !matches!(stdin.read(&mut nothing), Ok(0) | Err(_)) {}
        // This ends `serve` below, which reports errors.
        let _ = garland_mount::unmount(&at);
    });
    begun.or_nothing("cannot start the thread that watches standard input")?;
    let ready = || garland_terminal::outln!("mounted");
    // Reports of activity are not needed: the farm has records of its jobs.
    mounted.serve(&interrupts, ready, |_| {}).map_err(Failure::nothing)?;
    Ok(Exit::Done)
}
