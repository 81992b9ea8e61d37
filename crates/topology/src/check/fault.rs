use thiserror::Error;

/// The maximum number of nodes, with the head. A Linux bridge has 1023 ports.
pub const MOST_NODES: usize = 1001;

/// The maximum length of the name of a network device in bytes (`IFNAMSIZ` without the final NUL).
pub const LONGEST_DEVICE: usize = 15;

/// A fault of a topology. Nodes and devices are named as in the topology: `n3`, `eth0 of n3`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyFault {
    /// It has no node.
    #[error("the topology has no nodes: name at least two, the head first")]
    NoNodes,
    /// It has one node.
    #[error("node {0} is the only node: a topology needs at least two")]
    Alone(String),
    /// It has more nodes than a lab can have.
    #[error(
        "{0} nodes: a topology has at most {MOST_NODES} with the head, since a Linux bridge has 1023 ports; use fewer nodes"
    )]
    TooManyNodes(usize),
    /// An index is out of range.
    #[error(
        "{thing} refers to {what} {place}, but the topology has only {count}; they are numbered from 0"
    )]
    Dangling {
        /// The referring object.
        thing: String,
        /// The kind of the referenced object.
        what: &'static str,
        /// The index.
        place: usize,
        /// The number of such objects.
        count: usize,
    },
    /// The name of a node is not a valid host name.
    #[error(
        "{0:?} is not a valid node name: a host name consists of letters, digits, `-` and `.`, begins and ends with a letter or digit, and has at most 63 bytes"
    )]
    HostName(String),
    /// The name of a NIC, bond or medium is not a valid device name.
    #[error(
        "{name:?} is not a valid name for {what}: the name of a network device begins with a letter, consists of letters, digits, `-` and `_`, and has at most {LONGEST_DEVICE} bytes"
    )]
    DeviceName {
        /// The kind of the named object.
        what: String,
        /// The name.
        name: String,
    },
    /// Two objects have the same name.
    #[error("two {what} have the name {name}: rename one of them")]
    SameName {
        /// The kind of the objects.
        what: String,
        /// The name.
        name: String,
    },
    /// A hub without a rate.
    #[error(
        "medium {0} is a hub without a rate; a hub needs one, since all its stations share it: set `rate`, for instance to 10mbit"
    )]
    HubWithoutRate(String),
    /// A rate of zero.
    #[error(
        "medium {0} has the rate 0, which passes no packets: set another rate, or omit `rate` for no limit"
    )]
    NoRate(String),
    /// A wire with other than two ends.
    #[error("wire {wire} needs exactly two NICs, but has {ends}")]
    WireEnds {
        /// The wire.
        wire: String,
        /// The number of NICs.
        ends: usize,
    },
    /// A wire from a node to itself.
    #[error("wire {wire} leads from {node} to itself: plug one end into another node")]
    WireToItself {
        /// The wire.
        wire: String,
        /// The node.
        node: String,
    },
    /// An uplink that does not lead from a switch to a hub or switch.
    #[error("the uplink from {from} to {to} is not possible: {reason}")]
    Uplink {
        /// The medium at one end.
        from: String,
        /// The medium at the other end.
        to: String,
        /// What is wrong, and what to do.
        reason: &'static str,
    },
    /// A medium without NICs and uplinks.
    #[error("medium {0} connects nothing: plug NICs into it, or remove it")]
    Empty(String),
    /// A node that no cables connect to the head.
    #[error(
        "node {node} is not connected to {head}: no path of media and other nodes leads there; add a cable"
    )]
    Unconnected {
        /// The node.
        node: String,
        /// The head.
        head: String,
    },
    /// An address that no host can have.
    #[error("{thing} has the invalid address {address}: {reason}")]
    Address {
        /// The node or NIC.
        thing: String,
        /// The address.
        address: String,
        /// What is wrong, and what to do.
        reason: &'static str,
    },
    /// Two nodes or NICs have the same address.
    #[error("{first} and {second} have the same address {address}: change one of them")]
    AddressClash {
        /// The address.
        address: String,
        /// A node or NIC that has it.
        first: String,
        /// Another one that has it.
        second: String,
    },
    /// The properties of a NIC do not fit together.
    #[error("{nic}: {reason}")]
    Nic {
        /// The NIC.
        nic: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A bond that is not possible.
    #[error("bond {bond} of {node}: {reason}")]
    Bond {
        /// The bond.
        bond: String,
        /// Its node.
        node: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A route that is not possible.
    #[error("the route of {node} to {to}: {reason}")]
    Route {
        /// Its node.
        node: String,
        /// Its destination.
        to: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A routing loop.
    #[error("packets from {from} to {to} loop: {way}; change one of these routes")]
    Loop {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The nodes, the first one again at the end.
        way: String,
    },
    /// Packets do not arrive.
    #[error("packets from {from} to {to} do not arrive: {reason}")]
    NoWay {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// Where and why they are dropped, and what to do.
        reason: String,
    },
}
