//! `garland mount`: the files of all nodes below one directory.

mod background;
mod kept;
mod record;
mod status;
mod table;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_core::cluster::Node;
use garland_core::cluster::nodelist::fold;
use garland_core::printable;
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::context::Context;
use garland_fleet::default_nodes;
use garland_fleet::inventory::{Inventory, LAB_PREFIX, NO_CLUSTER_FILE};
use garland_fleet::launch::lab;
use garland_fleet::standing::{RecordDir, Standing};
use garland_mount::{Ended, MountJob, Reach};
use garland_results::head::Phases;
use garland_state::places::Places;
use garland_sys::process;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};

use self::kept::Kept;
use self::record::Record;
use crate::args::Mount;

/// How long a mount's process may take to end after its mount is gone.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Mounts, unmounts, or shows mounts.
pub fn run(context: &Context, mount: &Mount) -> Result<Exit, Failure> {
    if mount.status {
        return status::run(context, mount.dir.as_deref());
    }
    let mount = &mount.in_order();
    let Some(dir) = &mount.dir else { return Err(Failure::usage("no directory is given")) };
    if mount.unmount {
        return unmount(dir);
    }
    if !mount.foreground && !mount.background {
        return background::start();
    }
    serve(context, mount, dir)
}

fn unmount(dir: &Path) -> Result<Exit, Failure> {
    let path = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let ended = garland_mount::unmount(&path).map_err(|error| {
        let hint = error.is_not_mounted().then_some("garland mount --status lists the mounts");
        let failure = Failure::nothing(error);
        hint.into_iter().fold(failure, |failure, hint| failure.hint(hint))
    });
    match ended? {
        Ended::Unmounted => end_server(&path)?,
        Ended::InUse => {
            garland_terminal::errln!(
                "{} is in use: it will be unmounted when no process uses it",
                printable::path(dir)
            );
        }
    }
    Ok(Exit::Done)
}

/// Ends the process that served the mount on `path`, unless it exits soon. It does not exit while a
/// mount namespace that was created later, such as that of a container or a lab, has a copy of the
/// mount.
fn end_server(path: &Path) -> Result<(), Failure> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let records = Record::all(&Places::open()?)?;
    for record in records.iter().filter(|record| record.dir == path) {
        // Errors are ignored: the process is then left alone.
        if let Ok(Some(server)) = record.server().handle()
            && matches!(server.wait(END_TIMEOUT), Ok(false))
        {
            let _ = server.ask_to_end();
        }
    }
    Ok(())
}

fn serve(context: &Context, mount: &Mount, dir: &Path) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let nodes = find_nodes(context, mount, &places)?;
    let lab = mount.lab.as_deref().unwrap_or(DEFAULT_LAB);
    let lab_found = lab::find(&nodes, &places, lab)?;
    let lab_name = lab_found.as_ref().map(garland_lab::Lab::name);
    tell_without_agents(&nodes, &RecordDir::open(&places, lab_name)?);
    let job = MountJob {
        dir: dir.to_owned(),
        names: nodes.iter().map(|node| shown(&node.name).to_owned()).collect(),
        here: here(&nodes),
        reach: reach(&nodes, &places, lab_name)?,
        sealed: !mount.no_encrypt,
        emulated: lab_found.is_some(),
    };
    let listed = job.names.clone();
    let sealed = job.sealed;
    // Mount before entering the lab: the mount must be visible to all processes, the lab's network
    // only here.
    let names = fold(&nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>());
    // Ctrl-C must not end this process between the mount and the loop that unmounts.
    let interrupts = Interrupts::catch().or_nothing("cannot wait for Ctrl-C")?;
    let mounted = garland_mount::mount(job).map_err(refused)?;
    let begun = lab::enter(&nodes, &places, lab, None)
        .and_then(|_| Kept::begin(&places, mounted.dir().to_owned(), listed, sealed));
    let kept = begun.inspect_err(|_| {
        // The first error is the one reported.
        let _ = garland_mount::unmount(dir);
    })?;
    let record = Record::keep(&places, mounted.dir(), names, kept.name())?;
    phases.end("set-up");
    let ready = || {
        if mount.background {
            background::report_ready();
        }
    };
    let served = mounted.serve(&interrupts, ready, |trace| kept.keep(trace));
    record.forget();
    let served = served.map_err(Failure::nothing)?;
    phases.end("mounted");
    match served.ended {
        Ended::Unmounted => {}
        Ended::InUse => {
            garland_terminal::errln!(
                "{} was in use: accesses fail from now on",
                printable::path(dir)
            )
        }
    }
    kept.end(&served, phases)?;
    Ok(Exit::Done)
}

/// Names the nodes that have no standing agent yet. They are mounted: agents may start later.
fn tell_without_agents(nodes: &[Node], shelf: &RecordDir) {
    let has_none = |node: &&Node| matches!(Standing::find(shelf, &node.name), Ok(None));
    let names: Vec<&str> = nodes.iter().filter(has_none).map(|node| node.name.as_str()).collect();
    if !names.is_empty() {
        let list = fold(&names);
        garland_terminal::errln!(
            "note    {list}: no standing agent; accesses fail until there is one: garland up {}",
            printable::word(&list)
        );
    }
}

fn refused(error: garland_mount::MountError) -> Failure {
    let is_device = error.is_device();
    let failure = Failure::nothing(error);
    if is_device {
        return failure
            .hint("/dev/fuse must exist and be accessible to this user (its usual mode is 666)");
    }
    failure
}

/// Returns the nodes to mount: those that the user named, else all of the cluster file (not with
/// `--lab`), else all with a standing agent.
fn find_nodes(context: &Context, mount: &Mount, places: &Places) -> Result<Vec<Node>, Failure> {
    let inventory = Inventory::open(context)?;
    let nodes = match (&mount.nodes, inventory.cluster(), &mount.lab) {
        (Some(list), ..) => inventory.nodes(list)?,
        (None, Some(_), None) => inventory.nodes("@all")?,
        (None, ..) => default_nodes::standing(places, mount.lab.as_deref())?,
    };
    if nodes.is_empty() {
        return Err(Failure::usage("no nodes: there is no cluster file, and no standing agent")
            .hint("name the nodes, or start agents with `garland up NODES`")
            .hint(NO_CLUSTER_FILE));
    }
    Ok(nodes)
}

/// Returns the name of the node that is this machine; `None` if this machine is not one of `nodes`.
fn here(nodes: &[Node]) -> Option<String> {
    let host = process::host_name();
    let host = host.split('.').next().unwrap_or_default();
    nodes.iter().map(|node| node.name.as_str()).find(|name| *name == host).map(str::to_owned)
}

/// Returns a node's name in the mount: without the prefix of a lab.
fn shown(name: &str) -> &str {
    name.strip_prefix(LAB_PREFIX).unwrap_or(name)
}

/// Returns a function that connects to a node's agent. Each call reads the agent's record again,
/// since agents can start and end during the mount.
fn reach(nodes: &[Node], places: &Places, lab: Option<&str>) -> Result<Reach, Failure> {
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let places = places.clone();
    let lab = lab.map(str::to_owned);
    let keys = places.controller_keys()?;
    Ok(Arc::new(move |place| {
        let shelf = RecordDir::open(&places, lab.as_deref());
        let shelf = shelf.map_err(|failure| failure.message().to_owned())?;
        let record = Standing::find(&shelf, &names[place]).map_err(|error| error.of_node())?;
        let record = record.ok_or("no standing agent")?;
        record.connect(&keys).map_err(|error| match error.other_release() {
            None => error.to_string(),
            Some(_) => error.of_standing(),
        })
    }))
}
