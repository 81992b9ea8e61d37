//! Orders of the head and replies of agents in a survey, which compares a network with its plan.

use std::net::{Ipv4Addr, SocketAddrV4};

use garland_core::nic_facts::{Heard, NicFacts};
use serde::{Deserialize, Serialize};

use crate::bounds;

/// The token of a run, which identifies the run's probes.
pub type Token = [u8; 16];

/// An order of a survey. Each has one reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SurveyOrder {
    /// Report the NICs, and answer the probes of other nodes at those of these addresses that are
    /// the node's own, until the channel ends.
    Open(Vec<Ipv4Addr>),
    /// Send frames with this token and the number of this node on every NIC, and listen on all of
    /// them.
    Frames(Token, u32),
    /// Send datagrams with this token and the number of this node to this port on every NIC, and
    /// listen on all of them; for agents that are not permitted to send frames.
    Datagrams(Token, u32, u16),
    /// Find the largest packets that are delivered.
    Mtu(Vec<MtuProbe>),
    /// Send through a connection for this many milliseconds, or a few times as long until the rate
    /// is stable.
    Rate {
        /// The NIC to send on.
        nic: String,
        /// The address at which the peer's agent accepts connections.
        to: SocketAddrV4,
        /// The duration in milliseconds.
        millis: u32,
    },
    /// Send a burst of small datagrams with this number, by the route that the node's kernel
    /// chooses.
    Burst {
        /// The address at which the peer's agent answers datagrams.
        to: SocketAddrV4,
        /// The number of the burst.
        number: u32,
        /// The number of datagrams.
        count: u32,
    },
    /// Report how many frames the NICs have sent, and how many datagrams of this burst arrived
    /// since it was last asked for. From then on only datagrams of this burst are counted, so it is
    /// asked for once before it is sent.
    Counts(u32),
}

/// A packet size to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MtuProbe {
    /// The NIC to send on.
    pub nic: String,
    /// The address at which the peer's agent answers datagrams.
    pub to: SocketAddrV4,
    /// The largest size to try, in bytes of the IPv4 packet.
    pub most: u16,
}

/// A reply to an order of a survey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SurveyAnswer {
    /// The agent answers probes.
    Open {
        /// The NICs.
        nics: Vec<NicFacts>,
        /// The port at which it answers datagrams.
        udp: u16,
        /// The port at which it accepts connections.
        tcp: u16,
        /// Those of the addresses at which it may not listen (`--listen`).
        withheld: Vec<Ipv4Addr>,
    },
    /// The probes that arrived.
    Heard(Vec<Heard>),
    /// The agent is not permitted to send frames, and why.
    Refused(#[serde(deserialize_with = "bounds::reason")] String),
    /// For each probe the size of the largest packet that was answered.
    Mtu(Vec<Option<u16>>),
    /// The rate in bits per second that the receiver measured.
    Rate(f64),
    /// The number of datagrams that were sent.
    Sent(u32),
    /// The number of frames that each NIC has sent since it was created (modulo 2^32), and the
    /// number of datagrams of the burst that arrived.
    Counts(Vec<(String, u32)>, u32),
    /// The order failed, and why.
    Failed(#[serde(deserialize_with = "bounds::reason")] String),
}
