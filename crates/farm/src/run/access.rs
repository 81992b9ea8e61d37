//! How jobs on agents access their files.

use std::os::unix::ffi::OsStrExt;

use garland_control::{Agent, Stager};
use garland_core::farm::Text;
use garland_lab::Lab;
use garland_protocol::Opening;

use super::driver::Work;
use super::task::JobFiles;
use super::window::{Server, files_in};
use crate::args::DataName;
use garland_terminal::failure::Failure;

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
    /// Serves files to the nodes' mounts until it is dropped; none without mounts.
    _server: Option<Server>,
}

impl Access {
    /// Prepares the access to files for a run on the nodes `names` with these agents.
    pub fn open(
        work: &Work<'_>,
        names: &[String],
        agents: &[Result<Agent, String>],
        lab: Option<&Lab>,
    ) -> Result<Self, Failure> {
        let folder = Text::from(format!(".garland-{}", work.run.name()).as_str());
        let windows = Text([folder.bytes(), b"-files"].concat());
        let here = &work.settings.folder;
        let (mut stager, mut server) = (None, None);
        let place = match work.settings.data {
            DataName::There => JobFiles::There,
            DataName::Stage => {
                let keys = work.places.controller_keys()?;
                let disk = lab.and_then(|lab| lab.disk(lab.head()).ok().flatten());
                stager = Some(Stager::new(keys, agents, names, &folder, here, disk));
                JobFiles::Inside
            }
            DataName::Mount => {
                server = Some(Server::start(work)?);
                JobFiles::Under(files_in(&windows), Text::from(here.as_os_str().as_bytes()))
            }
        };
        let opening = |agent: &Result<Agent, String>| {
            server.as_ref()?.opening(agent.as_ref().ok()?, &windows)
        };
        let openings = agents.iter().map(opening).collect();
        Ok(Self { folder, place, stager, openings, _server: server })
    }
}
