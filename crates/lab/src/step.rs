//! The steps that build a lab, as values that can be printed.

use std::fmt;

/// The namespaces in which a step is executed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The network namespace of the media, which contains the ports of all nodes.
    Media,
    /// The namespaces of the node with this name.
    Node(String),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Host names cannot contain an underscore, so this is not the name of a node.
            Place::Media => out.write_str("_media"),
            Place::Node(name) => out.write_str(name),
        }
    }
}

/// A step of building a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Creates the network and UTS namespaces of a node, and sets its host name.
    Namespace {
        /// The node.
        node: String,
    },
    /// Writes a kernel setting of a network namespace.
    Sysctl {
        /// The place.
        place: Place,
        /// The name of the setting with dots, as in sysctl(8).
        key: String,
        /// The value.
        value: String,
    },
    /// Executes a line of `ip -batch`.
    Ip {
        /// The place.
        place: Place,
        /// The line, without `ip`.
        line: String,
    },
    /// Executes a line of `tc -batch`.
    Tc {
        /// The place.
        place: Place,
        /// The line, without `tc`.
        line: String,
    },
    /// Executes a line of `bridge -batch`.
    Bridge {
        /// The place.
        place: Place,
        /// The line, without `bridge`.
        line: String,
    },
    /// Loads rules with `nft -f`.
    Nft {
        /// The place.
        place: Place,
        /// The rules, any number of lines.
        rules: String,
    },
}

/// Prints the equivalent shell command, with `_media` as the name of the namespace of the media.
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
