use thiserror::Error;

/// The most nodes: a head and as many as the ports of a Linux bridge (1023) leave room for.
pub const MOST_NODES: usize = 1001;

/// The longest name of a network device in bytes (`IFNAMSIZ` less its closing zero).
pub const LONGEST_DEVICE: usize = 15;

/// Why a topology can't be. Things are named as the topology names them: `n3`, `eth0 of n3`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyFault {
    /// It has no node.
    #[error("there are no nodes: name two at least, the head first")]
    NoNodes,
    /// It has one node.
    #[error("node {0} is alone: a topology joins two nodes at least")]
    Alone(String),
    /// It has more nodes than a lab can have.
    #[error(
        "{0} nodes: the most is {MOST_NODES} with the head, for a Linux bridge has 1023 ports; take fewer"
    )]
    TooManyNodes(usize),
    /// An index leads nowhere.
    #[error(
        "{thing} refers to {what} {place}, but there are only {count}: they are counted from 0"
    )]
    Dangling {
        /// What refers.
        thing: String,
        /// To what kind of thing.
        what: &'static str,
        /// The index.
        place: usize,
        /// How many there are.
        count: usize,
    },
    /// A node's name can't be a host's.
    #[error(
        "{0:?} can't name a node: a host name has letters, digits, `-` and `.`, begins and ends with a letter or digit, and has 63 bytes at most"
    )]
    HostName(String),
    /// A NIC's, bond's or medium's name can't be a network device's.
    #[error(
        "{name:?} can't name {what}: a network device's name begins with a letter, goes on with letters, digits, `-` and `_`, and has {LONGEST_DEVICE} bytes at most"
    )]
    DeviceName {
        /// What is named.
        what: String,
        /// The name.
        name: String,
    },
    /// Two things have one name.
    #[error("two {what} are called {name}: rename one of them")]
    SameName {
        /// What they are.
        what: String,
        /// The name.
        name: String,
    },
    /// A hub without a rate.
    #[error(
        "medium {0} is a hub without a rate, which all its stations share: give it one, such as 10mbit"
    )]
    HubWithoutRate(String),
    /// A rate of zero.
    #[error("medium {0} has the rate 0: nothing would arrive; leave it out for one without limit")]
    NoRate(String),
    /// A wire with other than two ends.
    #[error("wire {wire} has NICs at {ends} ends: plug exactly two into it")]
    WireEnds {
        /// The wire.
        wire: String,
        /// How many NICs.
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
    /// An uplink that isn't from a switch to a hub or switch.
    #[error("the uplink from {from} to {to} can't be: {reason}")]
    Uplink {
        /// One medium.
        from: String,
        /// The other one.
        to: String,
        /// Why not, and what to do.
        reason: &'static str,
    },
    /// Nothing is plugged into a medium.
    #[error("medium {0} joins nothing: plug NICs into it, or leave it out")]
    Empty(String),
    /// A node that no wire joins to the head.
    #[error("node {node} isn't connected to {head}: no medium joins them, not even over others")]
    Unconnected {
        /// The node.
        node: String,
        /// The head.
        head: String,
    },
    /// An address that no host can have.
    #[error("{thing} can't have the address {address}: {reason}")]
    Address {
        /// Whose it would be.
        thing: String,
        /// The address.
        address: String,
        /// Why not.
        reason: &'static str,
    },
    /// Two nodes, or two NICs that mustn't, have one address.
    #[error("{first} and {second} both have the address {address}: give one of them another")]
    AddressClash {
        /// The address.
        address: String,
        /// Whose it is.
        first: String,
        /// Whose it is as well.
        second: String,
    },
    /// What a NIC says of its address, its neighbours or its frames doesn't fit.
    #[error("{nic}: {reason}")]
    Nic {
        /// The NIC.
        nic: String,
        /// What doesn't fit, and what to do.
        reason: String,
    },
    /// A bond that can't be.
    #[error("bond {bond} of {node}: {reason}")]
    Bond {
        /// The bond.
        bond: String,
        /// Whose it is.
        node: String,
        /// What doesn't fit, and what to do.
        reason: String,
    },
    /// A route that can't be.
    #[error("the route of {node} to {to}: {reason}")]
    Route {
        /// Whose it is.
        node: String,
        /// Where it leads.
        to: String,
        /// What doesn't fit, and what to do.
        reason: String,
    },
    /// Packets go round.
    #[error("packets from {from} to {to} go round: {way}; change a route on the way")]
    Loop {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The nodes, the first one again at the end.
        way: String,
    },
    /// Packets don't arrive.
    #[error("packets from {from} to {to} don't arrive: {reason}")]
    NoWay {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// Where they stop and why, and what to do.
        reason: String,
    },
}
