//! The other agents of the same user on a node: those whose paths begin in the same folder, since
//! several nodes may share a machine (`local[1-8]`).

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use garland_protocol::{ACCOUNT_MAX, Account, PROTOCOL};
use garland_sys::{local_socket, process, random};

use super::Activity;

/// How long all of them together may take to answer.
const PATIENCE: Duration = Duration::from_millis(300);

/// So many are asked at most; the others count as silent.
const ASKED: usize = 256;

/// What the names of all doors of a node begin with. Asked once: a disk may hang later.
pub fn prefix(root: &Path) -> io::Result<String> {
    let folder = std::fs::metadata(root)?;
    let user = process::user_id();
    Ok(format!("garland-{PROTOCOL}-{user}-{:x}-{:x}-", folder.dev(), folder.ino()))
}

/// A new name for a door.
pub fn new_name(prefix: &str) -> String {
    format!("{prefix}{:016x}", u64::from_ne_bytes(random::bytes()))
}

/// Adds what the others are at to this agent's own account; how many of them were silent.
pub fn add_all(doings: &Activity, account: &mut Account) -> u32 {
    let names = doings.doors().map(local_socket::names);
    // Where the kernel tells nothing, nobody is seen.
    let mut names = names.and_then(Result::ok).unwrap_or_default();
    names.retain(|name| Some(name.as_str()) != doings.door());
    let unasked = names.len().saturating_sub(ASKED);
    names.truncate(ASKED);
    let heard = local_socket::hear(&names, ACCOUNT_MAX, PATIENCE);
    let mut silent = unasked;
    for bytes in heard {
        match bytes.and_then(|bytes| Account::parse(&bytes)) {
            Some(other) => account.add(other),
            None => silent += 1,
        }
    }
    u32::try_from(silent).unwrap_or(u32::MAX)
}
