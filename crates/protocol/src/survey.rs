//! What the head asks agents when a network is compared with its plan, and what they answer.

use std::net::SocketAddrV4;

use serde::{Deserialize, Serialize};

use garland_core::nic_facts::{Heard, NicFacts};

/// The token of a run, which identifies its probes.
pub type Token = [u8; 16];

/// An order of a survey. Each has one answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SurveyOrder {
    /// Report the NICs, and answer the probes of others until the channel ends.
    Open,
    /// Send frames by every NIC, and listen on all of them meanwhile.
    Frames(Token, u32),
    /// Send datagrams to this port by every NIC, and listen on all of them meanwhile; for agents that may
    /// not send frames.
    Datagrams(Token, u32, u16),
    /// Find the largest packets that pass.
    Mtu(Vec<MtuProbe>),
    /// Send through a connection for this many milliseconds, or a few times as long until its rate is
    /// stable.
    Rate {
        /// By which NIC.
        nic: String,
        /// Where an agent's connections are answered.
        to: SocketAddrV4,
        /// For how long.
        millis: u32,
    },
    /// Send a number of small datagrams with this burst number, by the node's route.
    Burst {
        /// Where an agent's datagrams are answered.
        to: SocketAddrV4,
        /// The burst's number.
        number: u32,
        /// How many.
        count: u32,
    },
    /// Say what NICs have sent, and how many datagrams of this burst came.
    Counts(u32),
}

/// A packet to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MtuProbe {
    /// By which NIC.
    pub nic: String,
    /// Where an agent's datagrams are answered.
    pub to: SocketAddrV4,
    /// The largest packet, in bytes of IPv4.
    pub most: u16,
}

/// An answer to a survey's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SurveyAnswer {
    /// The NICs, and the ports where datagrams and connections are answered.
    Open(Vec<NicFacts>, u16, u16),
    /// Probes that came in.
    Heard(Vec<Heard>),
    /// The agent may not send frames: why.
    Refused(String),
    /// For each probe the largest packet that was answered.
    Mtu(Vec<Option<u16>>),
    /// Bits per second that the receiver saw.
    Rate(f64),
    /// The number of datagrams that were sent.
    Sent(u32),
    /// Frames that each NIC has sent since it is there (it begins anew after 2^32), and datagrams of
    /// the burst that came.
    Counts(Vec<(String, u32)>, u32),
    /// The order couldn't be obeyed: why.
    Failed(String),
}
