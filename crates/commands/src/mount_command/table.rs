//! The table of `garland mount --status`.

use std::fmt;

use garland_core::printable;
use garland_core::units::bytes;
use garland_mount::{Account, NodeAccount};

use super::status::{MountState, StatusResult};

impl fmt::Display for StatusResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mounts.is_empty() {
            return writeln!(f, "nothing is mounted; to mount, use: garland mount DIR NODES");
        }
        self.mounts.iter().try_for_each(|mount| show(f, mount))
    }
}

fn show(f: &mut fmt::Formatter<'_>, mount: &MountState) -> fmt::Result {
    let MountState { dir, nodes, pid, run, state, account, .. } = mount;
    writeln!(f, "{}  {nodes}  {state}, process {pid}, run {run}", printable::path(dir))?;
    let Some(account) = account else {
        return writeln!(
            f,
            "  to remove it, use: garland mount --unmount {}",
            printable::word(dir)
        );
    };
    let Account { reads, reads_ahead, writes, lookups, opens, opens_unchanged, .. } = account;
    writeln!(
        f,
        "  {reads} reads, {reads_ahead} of them read ahead; {writes} writes; {lookups} look-ups; \
         {opens} opens, {opens_unchanged} of them unchanged; {} open",
        account.open
    )?;
    account.nodes.iter().try_for_each(|node| show_node(f, node))
}

fn show_node(f: &mut fmt::Formatter<'_>, node: &NodeAccount) -> fmt::Result {
    let NodeAccount { name, connected, reason, asked, lost, .. } = node;
    let standing = match (connected, reason) {
        (true, _) => "up".to_owned(),
        (false, Some(reason)) => reason.clone(),
        (false, None) => "not used yet".to_owned(),
    };
    let [read, written] = [node.bytes_read, node.bytes_written].map(bytes::format);
    write!(f, "  {name:<12} {asked} requests, {read} read, {written} written; {standing}")?;
    if *lost > 0 {
        write!(f, "; lost {lost} times")?;
    }
    writeln!(f)
}
