//! Why a node's configuration can't be written.

use thiserror::Error;

use super::Format;

/// What is wrong with a node, a name or a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigFault {
    /// `--map` names a NIC that the node doesn't have.
    #[error("{node} has no NIC {nic}; it has {}", .has.join(", "))]
    UnknownNic {
        /// The node.
        node: String,
        /// The name that isn't there.
        nic: String,
        /// Those that are.
        has: Vec<String>,
    },
    /// A device name that Linux doesn't allow, or that would need quotes in some file.
    #[error(
        "{name:?} can't be the name of {node}'s {nic}: a device name has 1 to 15 letters, digits, \
         '.', '_' and '-' and begins with a letter or digit"
    )]
    DeviceName {
        /// The node.
        node: String,
        /// The NIC.
        nic: String,
        /// The name.
        name: String,
    },
    /// Two NICs of a node would be the same device.
    #[error("two NICs of {node} would be the device {name}")]
    SameDevice {
        /// The node.
        node: String,
        /// The device.
        name: String,
    },
    /// The format has no word for something.
    #[error("{} can't express {what} of {node}; {}", .format.name(), list(.able))]
    Unsuited {
        /// The format.
        format: Format,
        /// The node.
        node: String,
        /// What it can't say.
        what: String,
        /// The formats that can.
        able: &'static [Format],
    },
    /// The format knows devices by name, and the topology gives an Ethernet address.
    #[error(
        "{} needs the device name of {node}'s {nic}, which the topology knows by its Ethernet \
         address: say --map {nic}=NAME", .format.name()
    )]
    NeedsName {
        /// The format.
        format: Format,
        /// The node.
        node: String,
        /// The NIC.
        nic: String,
    },
}

fn list(formats: &[Format]) -> String {
    match formats {
        [] => "no format can".to_owned(),
        [one] => format!("{} can", one.name()),
        [others @ .., last] => {
            let others: Vec<_> = others.iter().map(|format| format.name()).collect();
            format!("{} and {} can", others.join(", "), last.name())
        }
    }
}
