//! Errors of network configurations.

use garland_core::command_error::CommandError;
use thiserror::Error;

use super::Format;

/// An error of the network configuration of a node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigFault {
    /// `--map` names a NIC that the node doesn't have.
    #[error("{node} has no NIC {nic}; it has {}", .has.join(", "))]
    UnknownNic {
        /// The node's name.
        node: String,
        /// The unknown name.
        nic: String,
        /// The names of the node's NICs.
        has: Vec<String>,
    },
    /// A device name that Linux does not allow, or that would need quotes in a file.
    #[error(
        "{name:?} is not a valid name for {nic} of {node}: a device name has 1 to 15 letters, digits, \
         '.', '_' and '-' and begins with a letter or digit"
    )]
    DeviceName {
        /// The node's name.
        node: String,
        /// The NIC or bond, as the topology names it.
        nic: String,
        /// The invalid device name.
        name: String,
    },
    /// Two NICs of a node would be the same device.
    #[error("two NICs of {node} have the device name {name}: change one with --map")]
    SameDevice {
        /// The node's name.
        node: String,
        /// The device name that both NICs have.
        name: String,
    },
    /// The format does not support something that the node needs.
    #[error("{} does not support {what} of {node}; {}", .format.name(), list(.able))]
    Unsuited {
        /// The format that lacks support.
        format: Format,
        /// The node's name.
        node: String,
        /// The unsupported part, such as `the MPTCP endpoint 10.88.0.11`.
        what: String,
        /// The formats that support `what`; empty if there are none.
        able: &'static [Format],
    },
    /// The format identifies devices by name, but the topology has an Ethernet address.
    #[error(
        "{} needs the device name of {nic} of {node}, but the topology has its Ethernet address only: \
         use --map {nic}=NAME", .format.name()
    )]
    NeedsName {
        /// The format that needs the name.
        format: Format,
        /// The node's name.
        node: String,
        /// The name of the NIC in the topology.
        nic: String,
    },
}

impl CommandError for ConfigFault {}

fn list(formats: &[Format]) -> String {
    match formats {
        [] => "no format does".to_owned(),
        [one] => format!("{} does", one.name()),
        [others @ .., last] => {
            let others: Vec<_> = others.iter().map(|format| format.name()).collect();
            format!("{} and {} do", others.join(", "), last.name())
        }
    }
}
