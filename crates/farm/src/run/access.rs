//! How jobs on agents access their files.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use garland_control::{Agent, Stager};
use garland_core::farm::{Job, Text};
use garland_core::printable;
use garland_lab::Lab;
use garland_protocol::farm::Opening;
use garland_sys::random;
use garland_terminal::failure::{Failure, OrFailure};

use super::driver::Work;
use super::task::JobFiles;
use super::window::{Server, files_in};
use crate::args::DataName;

/// The name of the directory for state files, in the run's directory while the run lasts.
const STATES: &str = "states";

/// The access of a run's jobs to their files.
pub struct Access {
    /// The path on nodes of the directory that contains the jobs' own directories.
    pub folder: Text,
    /// The paths of the jobs' files on nodes.
    pub place: JobFiles,
    /// Copies inputs to nodes and outputs back; none if files are not staged.
    pub stager: Option<Stager>,
    /// For each node, the order to mount this machine's files; none for nodes without a mount.
    pub openings: Vec<Option<Opening>>,
    /// The directory for the state files of jobs that move, if they have some.
    states: PathBuf,
    /// Serves files to the nodes' mounts until it is dropped; none without mounts.
    _server: Option<Server>,
}

impl Access {
    /// Prepares the access to files for a run on the nodes `names` with these agents.
    pub fn open(
        work: &Work<'_>,
        names: &[String],
        agents: &[Result<Agent, String>],
        jobs: &[Job],
        lab: Option<&Lab>,
    ) -> Result<Self, Failure> {
        // A node that stood still removes the files of an earlier try of the run when it is back.
        let own = random::bytes::<4>().map(|byte| format!("{byte:02x}")).concat();
        let folder = Text::from(format!(".garland-{}-{own}", work.run.name()).as_str());
        let windows = Text([folder.bytes(), b"-files"].concat());
        let here = &work.settings.folder;
        let states = work.run.folder().join(STATES);
        let mut stager = None;
        let mut server = None;
        let place = match work.settings.data {
            DataName::There => JobFiles::There,
            DataName::Stage => {
                let keys = work.places.controller_keys()?;
                let disk = lab.and_then(|lab| lab.disk(lab.head()).ok().flatten());
                if work.settings.migrate {
                    let making =
                        || format!("cannot create the directory {}", printable::path(&states));
                    fs::create_dir_all(&states).or_nothing(making())?;
                }
                stager = Some(Stager::new(keys, agents, names, &folder, here, &states, disk));
                JobFiles::Inside
            }
            DataName::Mount => {
                server = Some(Server::start(work, jobs, names)?);
                JobFiles::Under(files_in(&windows), Text::from(here.as_os_str().as_bytes()))
            }
        };
        let opening = |node: usize| -> Option<Opening> {
            server.as_ref()?.opening(node, agents[node].as_ref().ok()?, &windows)
        };
        let openings = (0..agents.len()).map(opening).collect();
        Ok(Self { folder, place, stager, openings, states, _server: server })
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        // It exists only if jobs may move with files.
        let _ = fs::remove_dir_all(&self.states);
    }
}
