//! What isn't as planned, by both ends and NIC.

use std::fmt;

use serde::Serialize;

use super::super::NicName;
use garland_core::cluster::nodelist::fold;

/// Something that isn't as planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// The node has no such NIC.
    NoNic {
        /// The NIC of the plan.
        nic: NicName,
    },
    /// Exchanged cables: each NIC is where the next one belongs, the last where the first does.
    Swapped {
        /// Two NICs, or more.
        nics: Vec<NicName>,
    },
    /// NICs that don't reach those they should, nor anything else of the plan.
    Missing {
        /// Cut off: one, or several that reach each other.
        nics: Vec<NicName>,
        /// The NICs that they should reach.
        peers: Vec<NicName>,
        /// Whether all of them have a carrier: then something is at the cable's other end.
        carrier: bool,
    },
    /// A NIC that is plugged in elsewhere, whose place is free.
    Misplaced {
        /// The NIC.
        nic: NicName,
        /// The NICs that it should reach.
        planned: Vec<NicName>,
        /// The NICs that it reaches.
        found: Vec<NicName>,
    },
    /// Two media that should be apart are joined.
    Joined {
        /// The NICs of the one.
        one: Vec<NicName>,
        /// The NICs of the other.
        other: Vec<NicName>,
    },
    /// NICs that aren't in the plan and reach each other, or some that are.
    Extra {
        /// Those that aren't in the plan.
        nics: Vec<NicName>,
        /// Those of the plan that they reach.
        planned: Vec<NicName>,
    },
    /// A link that carries less than 80 % of what it should.
    Slow {
        /// One end, or the only one that is slow with all others of its medium.
        from: NicName,
        /// The other end; all of the medium where there are several.
        to: Vec<NicName>,
        /// The measured TCP goodput in bits per second.
        measured: f64,
        /// The planned TCP goodput in bits per second.
        planned: f64,
        /// Whether only this direction is slow.
        one_way: bool,
    },
    /// A NIC that has agreed on less than its planned rate.
    Speed {
        /// The NIC.
        nic: NicName,
        /// The NICs that it reaches.
        peers: Vec<NicName>,
        /// Bits per second that it says.
        found: u64,
        /// Bits per second.
        planned: u64,
    },
    /// A NIC that can't send and receive at once.
    HalfDuplex {
        /// The NIC.
        nic: NicName,
        /// The NICs that it reaches.
        peers: Vec<NicName>,
    },
    /// A NIC with another MTU.
    Mtu {
        /// The NIC.
        nic: NicName,
        /// The NICs that it reaches.
        peers: Vec<NicName>,
        /// Bytes that it says.
        found: u32,
        /// Bytes of the plan.
        planned: u16,
        /// The largest packet that passed both ways between it and a peer.
        passes: Option<u16>,
    },
    /// A link that loses full packets, though the NICs at both ends have the right MTU.
    LinkMtu {
        /// The sender.
        from: NicName,
        /// The receiver.
        to: NicName,
        /// Bytes of the plan.
        planned: u16,
        /// The largest packet that passed; none when none did.
        passes: Option<u16>,
    },
    /// Packets took another way than planned.
    Route {
        /// The sender's name.
        from: String,
        /// The receiver's name.
        to: String,
        /// The NICs that should have sent them, in order.
        planned: Vec<NicName>,
        /// The NICs that sent a good part of them.
        found: Vec<NicName>,
    },
    /// Packets didn't arrive that should.
    Unreached {
        /// The sender's name.
        from: String,
        /// The receiver's name.
        to: String,
        /// The NICs that should send them, in order.
        planned: Vec<NicName>,
        /// Packets that were sent.
        sent: u32,
        /// Packets that came.
        arrived: u32,
    },
    /// Packets arrived between nodes that the plan isolates.
    Reached {
        /// The sender's name.
        from: String,
        /// The receiver's name.
        to: String,
        /// The NICs that sent them.
        found: Vec<NicName>,
    },
}

impl Finding {
    /// The NICs in question; none where it is about a way.
    pub fn names(&self) -> Vec<&NicName> {
        match self {
            Self::NoNic { nic }
            | Self::Misplaced { nic, .. }
            | Self::Speed { nic, .. }
            | Self::HalfDuplex { nic, .. }
            | Self::Mtu { nic, .. } => vec![nic],
            Self::Swapped { nics } | Self::Missing { nics, .. } => nics.iter().collect(),
            Self::Joined { one, other } => one.iter().chain(other).collect(),
            Self::Extra { nics, planned } => nics.iter().chain(planned).collect(),
            // The peers of a slow NIC that are fast with each other are not suspect.
            Self::Slow { from, to, .. } => match &to[..] {
                [to] => vec![from, to],
                _ => vec![from],
            },
            Self::LinkMtu { from, to, .. } => vec![from, to],
            Self::Route { .. } | Self::Unreached { .. } | Self::Reached { .. } => Vec::new(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoNic { .. } => {
                "look at `ip link` there; a NIC of another name needs the planned address, or \
                 rename it (systemd.link)"
            }
            Self::Swapped { .. } => "exchange their cables at one end",
            Self::Missing { carrier: false, .. } => "plug the cable in at both ends, or replace it",
            Self::Missing { carrier: true, .. } => {
                "follow the cable: it ends somewhere else, or what is at its end passes nothing on"
            }
            Self::Misplaced { .. } => "move its cable",
            Self::Joined { .. } => "remove the cable that joins them",
            Self::Extra { .. } => "remove the cable, or add it to the topology",
            Self::Slow { .. } => {
                "look at both ends with ethtool: speed, duplex, errors; then try another cable and \
                 another port"
            }
            Self::Speed { .. } => "try another cable and another port; see ethtool at both ends",
            Self::HalfDuplex { .. } => {
                "let both ends negotiate: ethtool -s NIC autoneg on; one fixed end makes the other \
                 half duplex"
            }
            Self::Mtu { .. } => "ip link set NIC mtu BYTES; garland net config writes it for good",
            Self::LinkMtu { .. } => "raise the MTU of the ports between them",
            Self::Route { .. } => {
                "compare `ip route get` with garland net show; garland net config writes the routes"
            }
            Self::Unreached { .. } => {
                "look at routes, net.ipv4.ip_forward and rp_filter on the way: garland net config \
                 writes them"
            }
            Self::Reached { .. } => "turn net.ipv4.ip_forward off where it isn't planned",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNic { nic } => write!(f, "{} has no NIC {}", nic.node, nic.nic),
            Self::Swapped { nics } => swapped(f, nics),
            Self::Missing { nics, peers, carrier } => {
                let why = if *carrier { "it has a carrier" } else { "it has no carrier" };
                if peers.is_empty() {
                    return write!(f, "missing: {} hear nothing of each other", list(nics));
                }
                write!(f, "missing: {} doesn't reach {} ({why})", list(nics), list(peers))
            }
            Self::Misplaced { nic, planned, found } => {
                write!(f, "misplaced: {nic} is with {}, not with {}", list(found), list(planned))
            }
            Self::Joined { one, other } => {
                write!(f, "extra: a cable joins {} and {}", list(one), list(other))
            }
            Self::Extra { nics, planned } if planned.is_empty() => {
                write!(f, "extra: {} reach each other, and aren't in the plan", list(nics))
            }
            Self::Extra { nics, planned } => {
                write!(f, "extra: {} isn't in the plan, and reaches {}", list(nics), list(planned))
            }
            Self::Slow { from, to, measured, planned, one_way } => {
                let arrow = if *one_way { "->" } else { "-" };
                let (measured, planned) = (rate(*measured), rate(*planned));
                let to = list(to);
                write!(f, "slow: {from} {arrow} {to}: {measured} of payload, planned {planned}")
            }
            Self::Speed { nic, peers, found, planned } => {
                let [found, planned] = [*found, *planned].map(|bits| rate(bits as f64));
                write!(f, "slow: {nic} (to {}) says {found}, planned {planned}", list(peers))
            }
            Self::HalfDuplex { nic, peers } => {
                write!(f, "half duplex: {nic} (to {})", list(peers))
            }
            Self::Mtu { nic, peers, found, planned, passes } => {
                write!(f, "MTU: {nic} (to {}) has {found}, planned {planned}", list(peers))?;
                passes.map_or(Ok(()), |bytes| write!(f, "; {bytes} bytes pass"))
            }
            Self::LinkMtu { from, to, planned, passes } => {
                write!(f, "MTU: {from} -> {to}: {planned} bytes don't pass")?;
                passes.map_or(Ok(()), |bytes| write!(f, ", {bytes} do"))
            }
            Self::Route { from, to, planned, found } => {
                let (planned, found) = (way(planned), way(found));
                write!(f, "route: {from} -> {to} went by {found}, planned {planned}")
            }
            Self::Unreached { from, to, planned, sent, arrived } => {
                let planned = way(planned);
                write!(f, "route: {from} -> {to} by {planned}: {arrived} of {sent} packets came")
            }
            Self::Reached { from, to, found } => {
                write!(f, "route: {from} -> {to} went by {}, planned isolated", way(found))
            }
        }
    }
}

fn swapped(f: &mut fmt::Formatter<'_>, nics: &[NicName]) -> fmt::Result {
    match nics {
        [one, two] => write!(f, "swapped: {one} and {two} have each other's cable"),
        _ => {
            write!(f, "swapped: ")?;
            for (at, nic) in nics.iter().enumerate() {
                let next = &nics[(at + 1) % nics.len()];
                let comma = if at == 0 { "" } else { ", " };
                write!(f, "{comma}{nic} is where {next} belongs")?;
            }
            Ok(())
        }
    }
}

/// NICs folded by their nodes: `n[1-4]/eth0`.
fn list(nics: &[NicName]) -> String {
    let mut devices: Vec<&str> = nics.iter().map(|nic| nic.nic.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let of = |device: &str| {
        let here = nics.iter().filter(|nic| nic.nic == device);
        format!("{}/{device}", fold(&here.map(|nic| &nic.node).collect::<Vec<_>>()))
    };
    let folded: Vec<String> = devices.into_iter().map(of).collect();
    folded.join(", ")
}

/// NICs in the order in which packets left by them.
fn way(nics: &[NicName]) -> String {
    let names: Vec<String> = nics.iter().map(NicName::to_string).collect();
    names.join(", ")
}

fn rate(bits: f64) -> String {
    format!("{:.1} Mbit/s", bits / 1e6)
}
