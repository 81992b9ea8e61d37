//! Access to files of this machine for jobs on nodes: a process on this machine serves the files,
//! and each node mounts them on a directory, its window.
//!
//! The process knows no controller. Each node has a key of its own, made for this run, with which
//! it reaches the directories of the jobs' files and nothing else.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use garland_control::Agent;
use garland_core::cluster::listen::ListenAt;
use garland_core::farm::{Job, Text};
use garland_core::printable;
use garland_fleet::launch::{Cancellation, LaunchedChild, Orders, Serves, local};
use garland_protocol::farm::{FarmAccess, FarmNode, Opening};
use garland_protocol::wire::{KeyPair, PublicKey};
use garland_state::places::Places;
use garland_sys::{private_file, process};
use garland_terminal::failure::{Failure, OrFailure};

use super::driver::Work;

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
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/sbin",
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
    /// Starts the process for the nodes `names`, which reach the directories of the files of
    /// `jobs`.
    pub fn start(work: &Work<'_>, jobs: &[Job], names: &[String]) -> Result<Self, Failure> {
        let keys: Vec<KeyPair> = names.iter().map(|_| KeyPair::generate()).collect();
        let nodes = names.iter().zip(&keys);
        let nodes = nodes.map(|(name, keys)| FarmNode { name: name.clone(), key: keys.public });
        let folders = folders_of(jobs, &work.settings.folder);
        refuse_private(&folders, &Guarded::new(work.places))?;
        let folders = folders.iter().map(|folder| text(folder)).collect();
        let farm = FarmAccess { nodes: nodes.collect(), folders };
        let path = work.run.folder().join(ACCESS);
        let written = private_file::replace_unsynced(&path, &farm.to_bytes());
        written.or_nothing(format!("cannot write {}", printable::path(&path)))?;
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

/// What of this machine nodes must not reach: who writes there acts as the user, or reads keys.
struct Guarded {
    /// The directories from which the user's commands run programs.
    programs: Vec<PathBuf>,
    /// The user's home directory, and that of the account if it is another one.
    homes: Vec<PathBuf>,
    /// Garland's state directory.
    states: Vec<PathBuf>,
    /// The directories from which an agent on this machine runs the program that was sent to it.
    caches: Vec<PathBuf>,
}

impl Guarded {
    /// Returns what must not be reached of this user.
    fn new(places: &Places) -> Self {
        let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let mut homes = vec![home];
        homes.extend(account_home());
        homes.extend(real(homes.iter()));
        let mut states = vec![places.base().to_owned()];
        states.extend(real(states.iter()));
        let searched = std::env::var_os("PATH").unwrap_or_default();
        // A relative directory is searched below the current one, and an empty name stands for
        // that.
        let absolute = |folder: PathBuf| std::path::absolute(Path::new(".").join(folder)).ok();
        let searched = std::env::split_paths(&searched).filter_map(absolute);
        let mut programs: Vec<PathBuf> = searched.collect();
        // The directory of this program may be in no path, and only directories are compared.
        programs.extend(std::env::current_exe().ok().and_then(|it| Some(it.parent()?.to_owned())));
        programs.extend(real(programs.iter()));
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let user = variable("LOGNAME").or_else(|| variable("USER"));
        let user = user.unwrap_or_else(|| process::user_id().to_string().into());
        let mut caches = caches_of(&user, variable("XDG_CACHE_HOME"), variable("TMPDIR"));
        caches.extend(real(caches.iter()));
        Self { programs, homes, states, caches }
    }

    /// Returns whether devices, processes or programs are in a directory, or below it.
    fn acts(&self, folder: &Path) -> bool {
        // Who makes a directory of this name before the program is sent has written to it, too.
        let has_cache = |cache: &PathBuf| cache.starts_with(folder) || folder.starts_with(cache);
        is_of_system(folder)
            || self.programs.iter().any(|it| it.starts_with(folder))
            || self.caches.iter().any(has_cache)
    }

    /// Returns whether a directory is a home directory, hidden in one, or that of Garland's state
    /// or below it; or above these.
    fn is_private(&self, folder: &Path) -> bool {
        let is_hidden = |below: &Path| below.as_os_str().as_bytes().starts_with(b".");
        let is_hidden_in = |home: &PathBuf| folder.strip_prefix(home).is_ok_and(is_hidden);
        self.homes.iter().chain(&self.states).any(|it| it.starts_with(folder))
            || self.homes.iter().any(is_hidden_in)
            || self.states.iter().any(|state| folder.starts_with(state))
    }
}

/// Returns the directories in which `fleet/src/launch/bootstrap.sh` stores the program for this
/// user, whether they exist or not. That in the home directory is hidden there.
fn caches_of(
    user: &OsStr,
    cache_home: Option<OsString>,
    temporary: Option<OsString>,
) -> Vec<PathBuf> {
    let mut named = OsString::from("garland-");
    named.push(user);
    let temporary = temporary.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let mut caches = vec![Path::new(MEMORY).join(&named), temporary.join(&named)];
    // A session of ssh may have no TMPDIR.
    caches.push(Path::new("/tmp").join(&named));
    caches.extend(cache_home.map(|folder| Path::new(&folder).join("garland")));
    caches
}

/// Refuses to give the nodes the user's keys and start-up files, or Garland's, or what the system
/// or the user runs by.
///
/// # Errors
/// When one of the directories has them.
fn refuse_private(folders: &BTreeSet<PathBuf>, guarded: &Guarded) -> Result<(), Failure> {
    const HINT: &str = "move the files into a directory of their own, or use --data stage";
    if let Some(folder) = folders.iter().find(|folder| guarded.acts(folder)) {
        let folder = printable::path(folder);
        return Err(Failure::usage(format!(
            "cannot give the nodes the files of {folder}: devices, processes or programs are there"
        ))
        .hint(HINT));
    }
    match folders.iter().find(|folder| guarded.is_private(folder)) {
        None => Ok(()),
        Some(open) => Err(Failure::usage(format!(
            "--data mount would give the nodes all of {}, with your keys and start-up files",
            printable::path(open)
        ))
        .hint(HINT)),
    }
}

/// Returns the home directory of this user's account (`getent passwd`), whatever `HOME` says; none
/// if it is unknown.
fn account_home() -> Option<PathBuf> {
    let user = process::user_id().to_string();
    let output = Command::new("getent").args(["passwd", &user]).output().ok()?;
    let line = output.stdout.split(|byte| *byte == b'\n').next()?;
    let home = line.split(|byte| *byte == b':').nth(5).filter(|home| home.starts_with(b"/"))?;
    Some(PathBuf::from(OsStr::from_bytes(home)))
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
        for folder in [
            "/",
            "/dev",
            "/dev/input",
            "/proc",
            "/proc/self",
            "/etc",
            "/usr",
            "/usr/local",
            "/usr/local/bin",
            "/sys/fs",
        ] {
            assert!(is_of_system(Path::new(folder)), "{folder}");
        }
        for folder in
            ["/dev/shm", "/dev/shm/a", "/etcetera", "/srv/etc", "/usr/local/data", "/run/a"]
        {
            assert!(!is_of_system(Path::new(folder)), "{folder}");
        }
    }

    #[test]
    fn what_the_user_runs_or_keeps_to_himself_is_not_given_to_nodes() {
        let guarded = Guarded {
            programs: vec![PathBuf::from("/srv/tools/bin")],
            homes: vec![PathBuf::from("/people/u")],
            states: vec![PathBuf::from("/var/state")],
            caches: caches_of(
                OsStr::new("u"),
                Some("/scratch/cache".into()),
                Some("/scratch/tmp".into()),
            ),
        };
        let refused = |folder: &str| {
            let refused = refuse_private(&BTreeSet::from([PathBuf::from(folder)]), &guarded);
            refused.err().map(|failure| failure.message().to_owned()).unwrap_or_default()
        };
        for folder in [
            "/srv",
            "/srv/tools",
            "/srv/tools/bin",
            "/dev/shm",
            "/dev/shm/garland-u",
            "/dev/shm/garland-u/host-12345678",
            "/tmp",
            "/tmp/garland-u",
            "/scratch",
            "/scratch/tmp",
            "/scratch/cache/garland",
        ] {
            assert!(refused(folder).ends_with("programs are there"), "{folder}");
        }
        for folder in [
            "/people",
            "/people/u",
            "/people/u/.ssh",
            "/people/u/.config/a",
            "/var/state",
            "/var/state/host",
        ] {
            assert!(refused(folder).ends_with("your keys and start-up files"), "{folder}");
        }
        for folder in [
            "/people/u/data",
            "/people/u/data/.a",
            "/srv/tools/data",
            "/people/v",
            "/dev/shm/run",
            "/tmp/run",
            "/scratch/cache/other",
        ] {
            assert_eq!(refused(folder), "", "{folder}");
        }
    }

    #[test]
    fn the_home_directory_of_the_account_is_known_without_the_environment() {
        let passwords = std::fs::read_to_string("/etc/passwd").unwrap();
        let user = process::user_id().to_string();
        let fields = passwords.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let own = fields.into_iter().find(|fields| fields.get(2) == Some(&user.as_str()));
        // Accounts of a directory service are not in the file.
        if let Some(own) = own {
            assert_eq!(account_home(), Some(PathBuf::from(own[5])));
        }
    }
}
