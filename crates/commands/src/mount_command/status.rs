//! `garland mount --status`: what is mounted, and what crossed the wires for it.

use garland_sys::threads;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use garland_mount::{Account, STATUS_NAME};
use serde::Serialize;

use super::record::Record;
use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, print_json};
use garland_results::places::Places;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// How long a mount may take to tell.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is mounted.
#[derive(Serialize)]
pub struct StatusResult {
    #[serde(flatten)]
    head: Head,
    /// The mounts, by folder.
    pub mounts: Vec<MountState>,
}

/// One mount.
#[derive(Serialize)]
pub struct MountState {
    /// The folder.
    pub dir: PathBuf,
    /// The nodes, folded.
    pub nodes: String,
    /// The process that serves it.
    pub pid: u32,
    /// When it was mounted, in nanoseconds since the beginning of 1970.
    pub since_ns: u64,
    /// Its run, which keeps its trace.
    pub run: String,
    /// `up`, `silent` (its process is there and doesn't answer) or `dead` (it was killed: mount again,
    /// or unmount).
    pub state: &'static str,
    /// What it tells; nothing unless it is up.
    pub account: Option<Account>,
}

/// Shows the mount on `dir`, or all.
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
        return Err(Failure::nothing(format!("nothing is mounted on {}", wanted.display())));
    }
    let result = StatusResult { head: Head::new("garland.mount-status/2", None, phases), mounts };
    if context.json {
        print_json(&result)?
    } else {
        output::print(&result)?
    }
    let all_up = result.mounts.iter().all(|mount| mount.state == "up");
    Ok(if all_up { Exit::Done } else { Exit::SomeFailed })
}

/// Asks a mount; one that is no more is forgotten.
fn ask(record: Record) -> Result<Option<MountState>, Failure> {
    let (tell, told) = channel();
    let path = record.dir.join(STATUS_NAME);
    // From a thread of its own: a mount whose process is stopped answers nobody.
    let begun = threads::spawn("status", move || {
        // Nobody may listen any more.
        let _ = tell.send(std::fs::read(path));
    });
    begun.or_nothing("asking a mount for its status")?;
    let (state, account) = match told.recv_timeout(PATIENCE) {
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
