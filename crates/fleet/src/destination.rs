//! Parses destinations on the command line; errors suggest what the user may have meant.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_core::cluster::Node;
use garland_core::cluster::target::{self, Target, TargetError};
use garland_core::printable;
use garland_terminal::failure::Failure;

use crate::inventory::Inventory;

/// The syntax of a destination.
pub const FORM: &str = "a destination is NODES:PATH, such as 'n[01-20]:/path'";

/// Nodes, and a path that is meant on each of them.
pub struct NodesAndPath {
    /// The nodes, in the order of their list.
    pub nodes: Vec<Node>,
    /// The path, as bytes.
    pub path: Vec<u8>,
}

/// Parses a destination, NODES:PATH.
pub fn destination(inventory: &Inventory, argument: &OsStr) -> Result<NodesAndPath, Failure> {
    find(inventory, target::parse(argument))
}

/// Parses NODES[:PATH]; without PATH, the path is `.`.
pub fn nodes_with_path(inventory: &Inventory, argument: &OsStr) -> Result<NodesAndPath, Failure> {
    let parsed = target::parse(argument);
    let list = match &parsed {
        Ok(Target::Local(_)) | Err(TargetError::NoPath { .. }) => argument.to_str(),
        Ok(Target::Nodes { .. } | Target::Pipe | Target::Command(_)) | Err(_) => None,
    };
    match list.filter(|list| !list.starts_with(['/', '.'])) {
        Some(list) => {
            let list = list.strip_suffix(':').unwrap_or(list);
            Ok(NodesAndPath { nodes: inventory.nodes(list)?, path: b".".to_vec() })
        }
        None => find(inventory, parsed),
    }
}

/// Returns the nodes and the path of a destination that was parsed.
fn find(
    inventory: &Inventory,
    parsed: Result<Target, TargetError>,
) -> Result<NodesAndPath, Failure> {
    match parsed {
        Ok(Target::Nodes { nodes: list, path }) => {
            let path = path.as_os_str().as_bytes();
            let nodes = inventory.nodes(&list)?;
            if path == b"-" && nodes.len() > 1 {
                let count = nodes.len();
                let message = format!("{count} nodes cannot write to one standard output");
                return Err(Failure::usage(message).hint("name one node"));
            }
            if path.starts_with(b"|") && path[1..].trim_ascii().is_empty() {
                return Err(Failure::usage("no command after `|`")
                    .hint(format!("for example '{list}:|tar x -C /scratch'")));
            }
            refuse_tilde(&list, path)?;
            Ok(NodesAndPath { nodes, path: path.to_vec() })
        }
        Ok(Target::Local(path)) => {
            let failure =
                Failure::usage(format!("`{}` is a path on this machine", printable::path(&path)));
            Err(match meant(inventory, &path) {
                Some(wanted) => failure.hint(format!("{FORM}; did you mean '{wanted}'?")),
                None => failure.hint(FORM),
            })
        }
        Ok(Target::Pipe) => Err(Failure::usage("standard output is not a destination")
            .hint("garland cp FILE n1:- writes to standard output what n1 received")),
        Ok(Target::Command(_)) => {
            Err(Failure::usage("a command on this machine is not a destination")
                .hint("garland cp FILE 'n[1-3]:|COMMAND' runs it on the nodes"))
        }
        Err(error) => Err(Failure::usage(&error).hint(match error {
            TargetError::NoPath { meant, .. } => format!("{FORM}; did you mean '{meant}'?"),
            TargetError::NoNodes(argument) => {
                format!(
                    "{FORM}; did you mean 'n1{argument}', or 'local1{argument}' on this machine?"
                )
            }
            TargetError::BareAddress { meant, .. } => format!("for the address, write '{meant}'"),
            TargetError::Empty | TargetError::Unclosed(_) | TargetError::NotText(_) => {
                FORM.to_owned()
            }
        })),
    }
}

/// Fails if the path is `~` or begins with `~/`: no shell expands this, so a directory with the
/// name `~` would be created.
fn refuse_tilde(list: &str, path: &[u8]) -> Result<(), Failure> {
    let Some(rest) = path.strip_prefix(b"~") else { return Ok(()) };
    if !rest.is_empty() && !rest.starts_with(b"/") {
        return Ok(());
    }
    let rest = printable::bytes(rest);
    let below = rest.trim_start_matches('/');
    let below = if below.is_empty() { "./" } else { below };
    Err(Failure::usage("`~` is not expanded on nodes").hint(format!(
        "a relative path begins in the home directory: '{list}:{below}'; \
         for a directory named ~ write '{list}:./~{rest}'"
    )))
}

/// Returns the destination that the user may have meant by `path`, such as `local1` or
/// `n[1-3]/data`, where only the colon is missing; none if a file of this machine has that name, or
/// if the nodes do not exist.
fn meant(inventory: &Inventory, path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let (list, rest) = text.split_once('/').unwrap_or((text, "path"));
    let is_here = matches!(list, "" | "." | "..") || Path::new(list).exists();
    if is_here || inventory.nodes(list).is_err() {
        return None;
    }
    Some(format!("{list}:/{rest}"))
}
