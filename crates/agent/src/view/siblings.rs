//! Finds the other agents of the same user on a node. They have the same root directory, which
//! distinguishes them from agents of other nodes on the same machine (`local[1-8]`).

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use garland_protocol::Message;
use garland_protocol::measure::{ACCOUNT_MAX, Account};
use garland_protocol::wire::PROTOCOL;
use garland_sys::local_socket::{self, Heard, Hearing};
use garland_sys::{process, random};

/// Timeout for the answers of all agents together.
const ANSWERS_TIMEOUT: Duration = Duration::from_millis(300);

/// The maximum number of agents that are asked; further ones count as silent. Sockets of other
/// users, who may take names like theirs, do not count, nor does what nobody listens on.
const ASKED: usize = 256;

/// Returns the prefix of the names of all agents' sockets on a node. It is computed once, since a
/// disk may hang later.
pub fn prefix(root: &Path) -> io::Result<String> {
    let folder = std::fs::metadata(root)?;
    let user = process::user_id();
    Ok(format!("garland-{PROTOCOL}-{user}-{:x}-{:x}-", folder.dev(), folder.ino()))
}

/// Returns a new unique name for a socket, with this prefix.
pub fn new_name(prefix: &str) -> String {
    format!("{prefix}{:016x}", u64::from_ne_bytes(random::bytes()))
}

/// Adds the accounts of the other agents, whose sockets begin with `prefix`, to `account`; `own` is
/// the name of this agent's socket. Returns the number of agents that did not answer.
pub fn add_all(prefix: Option<&str>, own: Option<&str>, account: &mut Account) -> u32 {
    let names = prefix.map(local_socket::names);
    // Without the kernel's list of sockets no other agent is found.
    let mut names = names.and_then(Result::ok).unwrap_or_default();
    names.retain(|name| Some(name.as_str()) != own);
    let hearing =
        Hearing { sockets_max: ASKED, length_max: ACCOUNT_MAX, patience: ANSWERS_TIMEOUT };
    let Heard { messages, mut silent } = local_socket::hear(&names, hearing);
    for bytes in messages {
        match Account::parse(&bytes) {
            Some(other) => account.add(other),
            None => silent += 1,
        }
    }
    u32::try_from(silent).unwrap_or(u32::MAX)
}
