//! Steps that build a lab, as values that can be printed.

use std::fmt;

/// The place of a step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The network namespace of the media, which has the ports of all nodes.
    Media,
    /// The namespaces of the node of this name.
    Node(String),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Host names have no underscore.
            Place::Media => out.write_str("_media"),
            Place::Node(name) => out.write_str(name),
        }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Makes the network and UTS namespaces of a node, and sets its host name.
    Namespace {
        /// The node.
        node: String,
    },
    /// Writes a kernel setting of a namespace.
    Sysctl {
        /// The place.
        place: Place,
        /// Its name with dots, as in sysctl(8).
        key: String,
        /// The value.
        value: String,
    },
    /// A line for `ip -batch`.
    Ip {
        /// The place.
        place: Place,
        /// The line, without `ip`.
        line: String,
    },
    /// A line for `tc -batch`.
    Tc {
        /// The place.
        place: Place,
        /// The line, without `tc`.
        line: String,
    },
    /// A line for `bridge -batch`.
    Bridge {
        /// The place.
        place: Place,
        /// The line, without `bridge`.
        line: String,
    },
    /// Rules for `nft -f`.
    Nft {
        /// The place.
        place: Place,
        /// The rules, of any number of lines.
        rules: String,
    },
}

/// The equivalent shell command, with `_media` as the name of the media's namespace.
impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Namespace { node } => write!(out, "ip netns add {node}"),
            Step::Sysctl { place, key, value } => {
                write!(out, "ip netns exec {place} sysctl -w {key}='{value}'")
            }
            Step::Ip { place, line } => write!(out, "ip -n {place} {line}"),
            Step::Tc { place, line } => write!(out, "tc -n {place} {line}"),
            Step::Bridge { place, line } => write!(out, "bridge -n {place} {line}"),
            Step::Nft { place, rules } => {
                write!(out, "ip netns exec {place} nft '{}'", rules.trim_end())
            }
        }
    }
}
