//! The run of a mount, with its trace.

use std::path::PathBuf;

use garland_core::trace::Trace;
use garland_mount::{Account, Ended, Served};
use garland_results::head::{Head, Phases};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_state::traces::PEERS;
use garland_terminal::failure::Failure;
use serde::Serialize;

/// The run of a mount: stores the trace and the result of the mount.
pub struct Kept {
    places: Places,
    run: Run,
    dir: PathBuf,
    nodes: Vec<String>,
    sealed: bool,
}

/// The result object `garland.mount/2`.
#[derive(Serialize)]
struct MountResult {
    #[serde(flatten)]
    head: Head,
    dir: PathBuf,
    /// The nodes, in the list's order.
    nodes: Vec<String>,
    sealed: bool,
    /// `unmounted`, or `in use` if the mount was in use when it was ended.
    ended: &'static str,
    account: Account,
}

impl Kept {
    /// Begins the run of a mount of `nodes` on `dir`.
    pub fn begin(
        places: &Places,
        dir: PathBuf,
        nodes: Vec<String>,
        sealed: bool,
    ) -> Result<Self, Failure> {
        let run = Run::begin(places, "mount")?;
        let peers: Vec<&str> =
            std::iter::once("head").chain(nodes.iter().map(String::as_str)).collect();
        run.keep(PEERS, &peers)?;
        Ok(Self { places: places.clone(), run, dir, nodes, sealed })
    }

    /// Returns the name of the run.
    pub fn name(&self) -> &str {
        self.run.name()
    }

    /// Stores the trace with all records so far.
    pub fn keep(&self, trace: &Trace) {
        self.run.keep_traces(&self.places, None, std::slice::from_ref(trace));
    }

    /// Stores the result of the mount after its end.
    pub fn end(self, served: &Served, phases: Phases) -> Result<(), Failure> {
        let Self { run, dir, nodes, sealed, .. } = self;
        let ended = match served.ended {
            Ended::Unmounted => "unmounted",
            Ended::InUse => "in use",
        };
        let head = Head::new("garland.mount/2", Some(&run), phases);
        let account = served.account.clone();
        run.keep("result.json", &MountResult { head, dir, nodes, sealed, ended, account })
    }
}
