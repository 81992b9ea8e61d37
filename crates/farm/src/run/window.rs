//! Access to files of this machine for jobs on nodes: a process on this machine serves the files,
//! and each node mounts them on a directory, its window.
//!
//! The process knows no controller. Each node has a key of its own, made for this run, with which it
//! reaches the directories of the jobs' files and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use garland_control::Agent;
use garland_core::cluster::listen::ListenAt;
use garland_core::farm::{Job, Text};
use garland_protocol::{FarmAccess, FarmNode, KeyPair, Opening, PublicKey};
use garland_results::places::Places;
use garland_sys::private_file;

use super::driver::Work;
use garland_fleet::launch::{Cancellation, LaunchedChild, Orders, Serves, local};
use garland_terminal::failure::{Failure, OrFailure};

/// The name of the process, in messages.
const SERVER: &str = "files";

/// The name of the file that says what nodes reach, in the run's directory.
const ACCESS: &str = "files.access";

/// Directories whose files nodes must not reach: what is written there acts on the machine.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/run/user",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/sbin",
    "/var/spool",
];

/// The directory for files in memory, which is below one of them.
const MEMORY: &str = "/dev/shm";

/// The process that serves this machine's files. Dropping this ends it.
pub struct Server {
    port: u16,
    key: PublicKey,
    /// The key pair with which the window of each node authenticates.
    keys: Vec<KeyPair>,
    _child: Option<LaunchedChild>,
}

impl Server {
    /// Starts the process for the nodes `names`, which reach the directories of the files of `jobs`.
    pub fn start(work: &Work<'_>, jobs: &[Job], names: &[String]) -> Result<Self, Failure> {
        let keys: Vec<KeyPair> = names.iter().map(|_| KeyPair::generate()).collect();
        let nodes = names.iter().zip(&keys);
        let nodes = nodes.map(|(name, keys)| FarmNode { name: name.clone(), key: keys.public });
        let folders = folders_of(jobs, &work.settings.folder);
        refuse_private(&folders, work.places)?;
        let folders = folders.iter().map(|folder| text(folder)).collect();
        let farm = FarmAccess { nodes: nodes.collect(), folders };
        let path = work.run.folder().join(ACCESS);
        let written = private_file::replace_unsynced(&path, &farm.to_bytes());
        written.or_nothing(format!("cannot write {}", path.display()))?;
        let orders = Orders {
            serves: Serves::Farm(path),
            cancellation: Cancellation::by(Some(Arc::clone(work.interrupts))),
            ..Orders::default()
        };
        let log = work.run.folder().join("files.log");
        // Nodes connect to it at whichever address of this machine they see.
        let launched = local::launch_at(ListenAt::ALL, SERVER, Path::new("/"), &orders, &log);
        let launched =
            launched.or_nothing("cannot start the process that serves this machine's files")?;
        let ready = &launched.ready;
        Ok(Self { port: ready.port, key: ready.key, keys, _child: launched.child })
    }

    /// Returns the order to open a window at `folder` on the node `node` of `agent`; none if the
    /// address by which the node reaches this machine is unknown.
    pub fn opening(&self, node: usize, agent: &Agent, folder: &Text) -> Option<Opening> {
        let address = agent.connection.own_address().ok()?.ip();
        let keys = self.keys.get(node)?;
        Some(Opening {
            folder: folder.clone(),
            address: (address, self.port).into(),
            key: self.key,
            keys: [keys.private.0, keys.public],
        })
    }
}

/// Returns the directories of the files of `jobs`, whose relative paths start at `here`.
fn folders_of(jobs: &[Job], here: &Path) -> BTreeSet<PathBuf> {
    let files = jobs.iter().flat_map(|job| job.inputs.iter().chain(&job.outputs));
    let mut folders: BTreeSet<PathBuf> = files.map(|file| folder_of(file, here)).collect();
    // A node that follows a link in the path comes by the other way.
    folders.extend(real(folders.iter()));
    folders
}

/// Refuses to give the nodes the user's keys and start-up files, or Garland's, or what the system
/// runs by.
///
/// # Errors
/// When one of the directories has them: the home directory, a hidden directory in it, the state
/// directory, one of [`SYSTEM`], or one above these.
fn refuse_private(folders: &BTreeSet<PathBuf>, places: &Places) -> Result<(), Failure> {
    if let Some(folder) = folders.iter().find(|folder| is_of_system(folder)) {
        let folder = folder.display();
        return Err(Failure::usage(format!(
            "cannot give the nodes the files of {folder}: devices, processes or programs are there"
        ))
        .hint("move the files into a directory of their own, or use --data stage"));
    }
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let mut private = vec![home, places.base().to_owned()];
    private.extend(real(private.iter()));
    let is_private = |folder: &Path| {
        let is_hidden = |below: &Path| below.as_os_str().as_bytes().starts_with(b".");
        private
            .iter()
            .any(|it| it.starts_with(folder) || folder.strip_prefix(it).is_ok_and(is_hidden))
    };
    let Some(open) = folders.iter().find(|folder| is_private(folder)) else { return Ok(()) };
    let open = open.display();
    Err(Failure::usage(format!(
        "--data mount would give the nodes all of {open}, with your keys and start-up files"
    ))
    .hint("move the files into a directory of their own, or use --data stage"))
}

/// Returns whether a directory is one of the system's, or in or above one.
fn is_of_system(folder: &Path) -> bool {
    !folder.starts_with(MEMORY)
        && SYSTEM.iter().any(|it| folder.starts_with(it) || Path::new(it).starts_with(folder))
}

/// Returns the paths without symbolic links of those that exist.
fn real<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    paths.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Returns the directory of a file, without `.` and `..`: a node that names the file as it is given
/// passes the parts that lead there.
fn folder_of(file: &Text, here: &Path) -> PathBuf {
    let path = here.join(OsStr::from_bytes(file.bytes()));
    let mut folder = PathBuf::from("/");
    for part in path.parent().unwrap_or(Path::new("/")).components() {
        match part {
            Component::ParentDir => {
                folder.pop();
            }
            Component::Normal(name) => folder.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    folder
}

fn text(path: &Path) -> Text {
    Text::from(path.as_os_str().as_bytes())
}

/// Returns the path of this machine's files in a window at `folder`.
pub fn files_in(folder: &Text) -> Text {
    Text([folder.bytes(), b"/", Opening::FILES.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_runs_by_is_not_given_to_nodes() {
        for folder in ["/", "/dev", "/dev/input", "/proc", "/proc/self", "/etc", "/usr", "/sys/fs"]
        {
            assert!(is_of_system(Path::new(folder)), "{folder}");
        }
        for folder in
            ["/dev/shm", "/dev/shm/a", "/etcetera", "/srv/etc", "/usr/local/data", "/run/a"]
        {
            assert!(!is_of_system(Path::new(folder)), "{folder}");
        }
    }
}
