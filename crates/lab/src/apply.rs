//! Executes the steps that build a lab, in the keeper process.

use std::io;
use std::path::{Path, PathBuf};

use garland_sys::namespace::{self, Entry, Kind, Namespace};

use crate::LabError;
use crate::step::{Place, Step};
use crate::tool::Tool;

/// The directory of the files that name network namespaces, as `ip netns` expects them. It is on a
/// tmpfs in the keeper's mount namespace.
const NETWORKS: &str = "/run/netns";
/// The directory of the files that name UTS namespaces.
const HOST_NAMES: &str = "/run/utsns";

/// Returns the path of the file that keeps a node's namespace alive, as the keeper sees it.
pub(crate) fn path(kind: Kind, node: &str) -> PathBuf {
    let folder = if kind == Kind::Uts { HOST_NAMES } else { NETWORKS };
    Path::new(folder).join(node)
}

/// Executes all steps. The caller must be in the namespaces of the media.
pub(crate) fn apply(steps: &[Step]) -> Result<(), LabError> {
    namespace::set_host_name("media").map_err(enter_failed("_media"))?;
    for folder in [NETWORKS, HOST_NAMES] {
        std::fs::create_dir_all(folder)
            .map_err(LabError::file("create directory", Path::new(folder)))?;
    }
    for group in steps.chunk_by(same_batch) {
        match &group[0] {
            Step::Namespace { node } => make(node)?,
            Step::Sysctl { place, .. } => write_settings(place, group)?,
            Step::Batch { tool, place, .. } => batch(*tool, place, group)?,
        }
    }
    Ok(())
}

/// Whether both steps can be executed together: they use the same tool, or both write settings, in
/// the same namespaces.
fn same_batch(one: &Step, other: &Step) -> bool {
    match (one, other) {
        (Step::Sysctl { place: a, .. }, Step::Sysctl { place: b, .. }) => a == b,
        (Step::Batch { tool, place: a, .. }, Step::Batch { tool: other, place: b, .. }) => {
            tool == other && a == b
        }
        _ => false,
    }
}

fn make(node: &str) -> Result<(), LabError> {
    elsewhere(node, || {
        namespace::unshare(&[Kind::Net, Kind::Uts])?;
        namespace::set_host_name(node)?;
        namespace::keep_as(Kind::Net, &path(Kind::Net, node))?;
        namespace::keep_as(Kind::Uts, &path(Kind::Uts, node))
    })
}

fn write_settings(place: &Place, steps: &[Step]) -> Result<(), LabError> {
    elsewhere(&place.to_string(), || {
        if let Place::Node(node) = place {
            open(Kind::Net, node)?.join()?;
        }
        steps.iter().try_for_each(|step| match step {
            Step::Sysctl { key, value, .. } => write_setting(key, value),
            _ => Ok(()),
        })
    })
}

fn write_setting(key: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/{}", key.replace('.', "/"));
    match std::fs::write(&path, value) {
        // A kernel without IPv6, or without netfilter for bridges, does not have these settings.
        Err(error) if error.kind() == io::ErrorKind::NotFound && may_lack(key) => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
        Ok(()) => Ok(()),
    }
}

fn may_lack(key: &str) -> bool {
    key.starts_with("net.ipv6.") || key.starts_with("net.bridge.")
}

fn batch(tool: Tool, place: &Place, steps: &[Step]) -> Result<(), LabError> {
    let mut command = tool.batch()?;
    if let Place::Node(node) = place {
        let net = open(Kind::Net, node).map_err(enter_failed(node))?;
        Entry { net: Some(net), ..Entry::default() }.attach(&mut command);
    }
    let lines: String = steps
        .iter()
        .filter_map(|step| match step {
            Step::Batch { text, .. } => Some(format!("{text}\n")),
            Step::Namespace { .. } | Step::Sysctl { .. } => None,
        })
        .collect();
    tool.run(command, &lines, &place.to_string()).map(drop)
}

/// Calls `work`, which may change the network and UTS namespaces of this thread, and then restores
/// them. `node` is named in errors.
fn elsewhere(node: &str, work: impl FnOnce() -> io::Result<()>) -> Result<(), LabError> {
    let home = || -> io::Result<_> {
        Ok((Namespace::current(Kind::Net)?, Namespace::current(Kind::Uts)?))
    };
    let (net, uts) = home().map_err(enter_failed(node))?;
    let done = work();
    net.join().and_then(|()| uts.join()).and(done).map_err(enter_failed(node))
}

fn open(kind: Kind, node: &str) -> io::Result<Namespace> {
    Namespace::open(kind, &path(kind, node))
}

fn enter_failed(node: &str) -> impl FnOnce(io::Error) -> LabError + use<> {
    let node = node.to_owned();
    move |source| LabError::Tool {
        tool: "namespace setup",
        place: node,
        reason: source.to_string(),
    }
}
