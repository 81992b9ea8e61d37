//! The steps that build a lab, as values that can be printed.

use std::fmt;

use crate::tool::Tool;

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
        /// The node's name.
        node: String,
    },
    /// Writes a kernel setting of a network namespace.
    Sysctl {
        /// The namespaces whose setting is written.
        place: Place,
        /// The name of the setting with dots, as in sysctl(8).
        key: String,
        /// The new value of the setting.
        value: String,
    },
    /// Runs a tool that reads its commands from standard input.
    Batch {
        /// The tool to run.
        tool: Tool,
        /// The namespaces in which the tool runs.
        place: Place,
        /// A line for ip, tc or bridge, without the name of the tool; any number of lines for nft.
        text: String,
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
            Step::Batch { tool: Tool::Nft, place, text } => {
                write!(out, "ip netns exec {place} nft '{}'", text.trim_end())
            }
            Step::Batch { tool, place, text } => {
                write!(out, "{} -n {place} {text}", tool.name())
            }
        }
    }
}
