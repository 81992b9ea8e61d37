//! `garland mount --status`: shows mounts and their traffic.

use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_core::printable;
use garland_fleet::context::Context;
use garland_mount::{Account, STATUS_NAME};
use garland_results::head::{Head, Phases, show};
use garland_state::places::Places;
use garland_sys::channel::channel;
use garland_sys::threads;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use serde::Serialize;

use super::record::Record;

/// How long to wait for the status of a mount before it is reported as silent.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// The result object `garland.mount-status/2`.
#[derive(Serialize)]
pub struct StatusResult {
    #[serde(flatten)]
    head: Head,
    /// The mounts, sorted by mount point.
    pub mounts: Vec<MountState>,
}

/// The state of one mount.
#[derive(Serialize)]
pub struct MountState {
    /// The mount point.
    pub dir: PathBuf,
    /// The nodes, as a node list such as `n[01-20]`.
    pub nodes: String,
    /// The id of the process that serves the mount.
    pub pid: u32,
    /// When the directory was mounted, in nanoseconds since the Unix epoch.
    pub since_ns: u64,
    /// The name of the mount's run, which has its trace.
    pub run: String,
    /// `up`, `silent` (the process does not answer) or `dead` (the process was killed).
    pub state: &'static str,
    /// The status that the mount reports; `None` unless `state` is `up`.
    pub account: Option<Account>,
}

/// Shows the mount on `dir`, or all mounts.
pub fn run(context: &Context, dir: Option<&Path>) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let records = Record::all(&Places::open()?)?;
    let wanted = dir.map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()));
    let records: Vec<Record> = records
        .into_iter()
        .filter(|record| wanted.as_ref().is_none_or(|wanted| *wanted == record.dir))
        .collect();
    phases.end("set-up");
    let mounts: Vec<MountState> = records
        .into_iter()
        .filter_map(|record| ask(record).transpose())
        .collect::<Result<_, _>>()?;
    phases.end("ask");
    if let Some(wanted) = wanted.filter(|_| mounts.is_empty()) {
        return Err(Failure::nothing(format!(
            "nothing is mounted on {}",
            printable::path(&wanted)
        )));
    }
    let result = StatusResult { head: Head::new("garland.mount-status/2", None, phases), mounts };
    show(context.json, &result)?;
    let all_up = result.mounts.iter().all(|mount| mount.state == "up");
    Ok(if all_up { Exit::Done } else { Exit::SomeFailed })
}

/// Reads the status of a mount. If the mount no longer exists, removes its record and returns
/// `None`.
fn ask(record: Record) -> Result<Option<MountState>, Failure> {
    let (sender, receiver) = channel();
    let path = record.dir.join(STATUS_NAME);
    // In a separate thread, since the read blocks if the mount's process is stopped.
    let begun = threads::spawn("status", move || {
        // The receiver may have timed out.
        let _ = sender.send(std::fs::read(path));
    });
    begun.or_nothing("cannot ask a mount for its status")?;
    let (state, account) = match receiver.recv_timeout(STATUS_TIMEOUT) {
        Err(_) => ("silent", None),
        Ok(Ok(text)) => match serde_json::from_slice::<Account>(&text) {
            Ok(account) => ("up", Some(account)),
            Err(_) => return Ok(None),
        },
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotConnected => ("dead", None),
        Ok(Err(_)) if record.is_served() => ("silent", None),
        Ok(Err(_)) => {
            record.forget();
            return Ok(None);
        }
    };
    let Record { dir, nodes, pid, since_ns, run, .. } = record;
    Ok(Some(MountState { dir, nodes, pid, since_ns, run, state, account }))
}
