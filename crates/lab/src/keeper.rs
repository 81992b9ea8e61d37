//! The keeper: the process that keeps a lab alive.
//!
//! The keeper creates the namespaces of the lab, is the first process of the lab's PID namespace,
//! and sleeps. The files that name the namespaces are on a tmpfs in the keeper's own mount
//! namespace, so nothing else keeps them alive. When the keeper ends, even by SIGKILL, the kernel
//! kills all processes of the lab and removes its mounts, networks and devices.
//!
//! The keeper communicates with `lab up` over standard input and output: it reads a line with the
//! description, writes a line with a [`Reply`], and reads a line that orders it to stay. If `lab
//! up` dies before, the keeper ends at the end of its input.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitCode, Stdio};

use garland_sys::identity::Identity;
use garland_sys::inherited;
use garland_sys::init::{self, Forked};
use garland_sys::namespace::{self, Kind};

use crate::delay::line::DelayLine;
use crate::feature::Feature;
use crate::medium::collisions;
use crate::record::Keeper;
use crate::share::{self, Shares};
use crate::{DelayBy, DelayRecord, LabError, Spec, apply, delay, feature, plan, role};

/// The keeper's reply to `lab up`: the description of its own process once the lab is built, or the
/// error message.
type Reply = Result<Keeper, String>;

/// Runs the keeper; see [`crate::hidden::main`].
pub fn main() -> ExitCode {
    let spec = inherited::input().and_then(|input| role::read_line(&mut input.lock()));
    let spec = match spec {
        Ok(spec) => spec,
        Err(error) => return refuse(&format!("the keeper cannot read the description: {error}")),
    };
    let built = match isolate() {
        Ok((Forked::Parent, _)) => return ExitCode::SUCCESS,
        Ok((Forked::Child, rootless)) => build(&spec, rootless),
        Err(error) => {
            let problem = format!("creating namespaces failed: {error}");
            Err(LabError::Unavailable { problem, hint: hint() })
        }
    };
    // `_shares` must live as long as this process: it holds the claim on the control groups.
    let Built { keeper, line, _shares } = match built {
        Ok(built) => built,
        Err(error) => return refuse(&error),
    };
    if say(&Ok(keeper)).is_ok() && told_to_stay() && init::silence().is_ok() {
        return serve(&spec, line);
    }
    ExitCode::FAILURE
}

fn refuse(reason: &impl ToString) -> ExitCode {
    // This fails if the starting process has ended.
    let _ = say(&Err(reason.to_string()));
    ExitCode::FAILURE
}

/// Reaps processes as long as the lab runs. If hubs have collisions, a second process adjusts the
/// hubs' rates; if frames are held by the lab's own delay line, that is a process, too. Like all
/// processes of the lab, they end with the keeper.
fn serve(spec: &Spec, line: Option<DelayLine>) -> ExitCode {
    // The counters must live as long as this process: commands read them from it.
    let _counters = match line.map(|line| (init::fork(), line)) {
        None => None,
        Some((Ok(Forked::Child), line)) => line.run(),
        Some((Ok(Forked::Parent), line)) => Some(line.into_counters()),
        Some((Err(_), _)) => return ExitCode::FAILURE,
    };
    if collisions::are_wanted(&spec.topology) {
        match init::fork() {
            Ok(Forked::Child) => collisions::keep(&spec.topology),
            Ok(Forked::Parent) => {}
            Err(_) => return ExitCode::FAILURE,
        }
    }
    init::reap_for_ever()
}

/// A keeper whose lab is built. It ends with its starter unless [`Started::stay`] is called.
pub(crate) struct Started {
    input: ChildStdin,
    /// The keeper process.
    pub(crate) keeper: Keeper,
}

impl Started {
    /// Lets the keeper outlive its starter.
    pub(crate) fn stay(mut self) -> io::Result<()> {
        self.input.write_all(b"stay\n")
    }
}

/// Starts a keeper and waits until it has built its lab.
pub(crate) fn start(spec: &Spec) -> Result<Started, LabError> {
    let failed = |reason: String| LabError::Start { name: spec.name.clone(), reason };
    let begin = || -> io::Result<(ChildStdin, Reply)> {
        let mut child = role::command(role::KEEPER, &spec.name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let answer = converse(&mut child, spec);
        // The child has forked the keeper or failed; in both cases it ends now.
        child.wait()?;
        answer
    };
    let (input, reply) = begin().map_err(|error| failed(error.to_string()))?;
    Ok(Started { input, keeper: reply.map_err(failed)? })
}

fn converse(child: &mut Child, spec: &Spec) -> io::Result<(ChildStdin, Reply)> {
    let mut input = child.stdin.take().expect("standard input is a pipe");
    let output = child.stdout.take().expect("standard output is a pipe");
    role::write_line(&mut input, spec)?;
    Ok((input, role::read_line(&mut io::BufReader::new(output))?))
}

fn say(reply: &Reply) -> io::Result<()> {
    role::write_line(&mut io::stdout().lock(), reply)
}

fn told_to_stay() -> bool {
    let mut line = String::new();
    let read = inherited::input().and_then(|input| input.read_line(&mut line));
    read.is_ok() && line == "stay\n"
}

/// Creates the namespaces of the lab and forks; the child is the first process of the PID
/// namespace. Also returns whether a user namespace was needed.
fn isolate() -> io::Result<(Forked, bool)> {
    const KINDS: [Kind; 4] = [Kind::Mount, Kind::Net, Kind::Uts, Kind::Pid];
    garland_sys::process::leave_session()?;
    std::env::set_current_dir("/")?;
    let (user, group) = namespace::effective_ids();
    // Root in a container may lack the right as well; it is treated like an ordinary user then.
    let rootless = user != 0 || namespace::unshare(&KINDS).is_err();
    if rootless {
        namespace::unshare(&[Kind::User])?;
        namespace::map_to_root(user, group)?;
        namespace::unshare(&KINDS)?;
    }
    namespace::make_mounts_private()?;
    let run = std::fs::canonicalize("/var/run").unwrap_or_else(|_| "/run".into());
    namespace::mount_memory(&run)?;
    if run != Path::new("/run") {
        namespace::mount_memory(Path::new("/run"))?;
    }
    Ok((init::fork()?, rootless))
}

/// A lab that is built.
struct Built {
    keeper: Keeper,
    /// The lab's own delay line; `None` if it needs none.
    line: Option<DelayLine>,
    /// The control groups of a lab whose nodes have CPU limits.
    _shares: Option<Shares>,
}

/// Builds the lab.
fn build(spec: &Spec, rootless: bool) -> Result<Built, LabError> {
    let shares = share::make(&spec.name, &spec.topology)?;
    let built = emulate(spec).and_then(|line| {
        let identity = Identity::own();
        let identity =
            identity.map_err(LabError::file("read process information in", Path::new("/proc")))?;
        Ok((identity, line))
    });
    match built {
        Ok((identity, line)) => {
            let path = shares.as_ref().map(|shares| shares.path().to_owned());
            let counters = line.as_ref().map(DelayLine::counters);
            let by = if counters.is_some() { DelayBy::Own } else { DelayBy::Netem };
            let record = DelayRecord { by, counters };
            let delay = delay::is_wanted(&spec.topology).then_some(record);
            let keeper = Keeper::new(identity, rootless, path, delay);
            Ok(Built { keeper, line, _shares: shares })
        }
        Err(error) => {
            shares.into_iter().for_each(Shares::remove);
            Err(error)
        }
    }
}

/// Executes the steps of the lab, if the kernel has the features that it needs. Returns the lab's
/// own delay line if it needs one.
fn emulate(spec: &Spec) -> Result<Option<DelayLine>, LabError> {
    let lacking = feature::missing(&feature::needed(&spec.topology))?;
    if !lacking.is_empty() {
        return Err(feature::unavailable(&lacking));
    }
    let topology = &spec.cabled();
    if !delay::is_wanted(topology) || feature::missing(&[Feature::Netem])?.is_empty() {
        apply::apply(&plan::steps(spec, DelayBy::Netem))?;
        return Ok(None);
    }
    delay::check_own(topology)?;
    apply::apply(&plan::steps(spec, DelayBy::Own))?;
    DelayLine::open(topology).map(Some).map_err(|error| LabError::Tool {
        tool: "the delay line",
        place: "_media".to_owned(),
        reason: error.to_string(),
    })
}

/// Returns what an administrator must change so that ordinary users can create namespaces. It is
/// derived from the kernel settings by which known distributions forbid them.
fn hint() -> String {
    const SWITCHES: [(&str, &str, &str); 4] = [
        ("user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
        ("user/max_net_namespaces", "0", "user.max_net_namespaces=15000"),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ];
    SWITCHES
        .iter()
        .find(|(file, forbids, _)| {
            std::fs::read_to_string(format!("/proc/sys/{file}"))
                .is_ok_and(|value| value.trim() == *forbids)
        })
        .map_or_else(
            || {
                "run it as root, or on a system where users may create namespaces (most containers forbid it)"
                    .to_owned()
            },
            |(_, _, setting)| {
                format!("users may not create namespaces on this system; to allow it, run as root: sysctl -w {setting}")
            },
        )
}
