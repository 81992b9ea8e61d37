//! Starts agents as processes of this machine, each confined to a directory: `local[1-8]`.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;

use garland_core::cluster::listen::ListenAt;
use garland_core::printable;

use super::binary::own_binary;
use super::error::cannot;
use super::orders::{LaunchResult, Orders, start_confined};

/// Starts the agent of the local node `name`, confined to the directory `root`. Only processes of
/// this machine reach it.
pub fn launch(name: &str, root: &Path, orders: &Orders, log: &Path) -> LaunchResult {
    launch_at(ListenAt::LOOPBACK, name, root, orders, log)
}

/// Starts the agent of the local node `name` as [`launch`] does, listening at `listen`.
pub fn launch_at(
    listen: ListenAt,
    name: &str,
    root: &Path,
    orders: &Orders,
    log: &Path,
) -> LaunchResult {
    std::fs::create_dir_all(root)
        .map_err(cannot(format!("create its directory {}", printable::path(root)), ""))?;
    let addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let command = Command::new(own_binary());
    start_confined(command, name, root, addresses, listen, orders, log)
}
