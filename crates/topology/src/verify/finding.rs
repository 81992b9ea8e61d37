//! The differences of a real network from its topology.

use std::fmt;

use garland_core::cluster::nodelist::fold;
use garland_core::printable;
use serde::Serialize;

use super::super::NicName;
use super::observed::LinkProperty;

/// A difference from the topology.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// A node does not have a planned NIC.
    NoNic {
        /// The planned NIC.
        nic: NicName,
    },
    /// Exchanged cables: each NIC is in the place of the next one, the last one in the place of the
    /// first.
    Swapped {
        /// The swapped NICs, at least two.
        nics: Vec<NicName>,
    },
    /// NICs that reach neither their planned peers nor other NICs of the plan.
    Missing {
        /// The missing NIC, or several missing NICs that reach each other.
        nics: Vec<NicName>,
        /// The NICs that `nics` should reach.
        peers: Vec<NicName>,
        /// Whether all of `nics` and `peers` have a carrier: a device at the other end of the
        /// cable.
        carrier: bool,
    },
    /// A NIC that is connected to another segment than planned, and not swapped with other NICs.
    Misplaced {
        /// The misplaced NIC.
        nic: NicName,
        /// The NICs that `nic` should reach.
        planned: Vec<NicName>,
        /// The NICs that `nic` reaches.
        found: Vec<NicName>,
    },
    /// Two media that should be apart are joined.
    Joined {
        /// The NICs of one medium.
        one: Vec<NicName>,
        /// The NICs of the other medium.
        other: Vec<NicName>,
    },
    /// NICs that are not in the plan and reach each other or planned NICs.
    Extra {
        /// The NICs that are not in the plan.
        nics: Vec<NicName>,
        /// The planned NICs that `nics` reach.
        planned: Vec<NicName>,
    },
    /// A link with less than 80 % of its planned goodput.
    Slow {
        /// One end of the link, or a NIC that is slow with all other NICs of its medium.
        from: NicName,
        /// The other end, or all other NICs of the medium.
        to: Vec<NicName>,
        /// The measured TCP goodput in bits per second.
        measured: f64,
        /// The planned TCP goodput in bits per second.
        planned: f64,
        /// Whether only the direction from `from` to `to` is slow.
        one_way: bool,
    },
    /// A NIC that has negotiated less than its planned rate.
    Speed {
        /// The NIC that negotiated too little.
        nic: NicName,
        /// The NICs that `nic` should reach.
        peers: Vec<NicName>,
        /// The negotiated rate in bits per second.
        found: u64,
        /// The planned rate in bits per second.
        planned: u64,
    },
    /// A NIC that is half duplex, but not on a hub.
    HalfDuplex {
        /// The half-duplex NIC.
        nic: NicName,
        /// The NICs that `nic` should reach.
        peers: Vec<NicName>,
    },
    /// A NIC whose MTU differs from the plan.
    Mtu {
        /// The NIC whose MTU differs.
        nic: NicName,
        /// The NICs that `nic` should reach.
        peers: Vec<NicName>,
        /// The actual MTU of `nic`, in bytes.
        found: u32,
        /// The planned MTU in bytes.
        planned: u16,
        /// The largest packet that passed on the worst link of `nic`, in bytes; `None` if none did.
        passes: Option<u16>,
    },
    /// A link that drops full packets, although the NICs at both ends have the planned MTU.
    LinkMtu {
        /// The sending NIC.
        from: NicName,
        /// The receiving NIC.
        to: NicName,
        /// The planned MTU in bytes.
        planned: u16,
        /// The largest packet that passed, in bytes; `None` if none passed.
        passes: Option<u16>,
    },
    /// Packets used another path than planned.
    Route {
        /// The sender's name.
        from: String,
        /// The receiver's name.
        to: String,
        /// The NICs that should have sent the packets, in the order of the path.
        planned: Vec<NicName>,
        /// The NICs that sent a large share of the packets.
        found: Vec<NicName>,
    },
    /// Packets did not arrive.
    Unreached {
        /// The sender's name.
        from: String,
        /// The receiver's name.
        to: String,
        /// The NICs that should send the packets, in the order of the path.
        planned: Vec<NicName>,
        /// The number of packets sent.
        sent: u32,
        /// The number of packets that arrived.
        arrived: u32,
    },
    /// Packets arrived between nodes that the plan isolates.
    Reached {
        /// The sender's name.
        from: String,
        /// The receiver's name.
        to: String,
        /// The NICs that sent the packets.
        found: Vec<NicName>,
    },
    /// A property of a planned link that was not measured, so nothing is known of it.
    UnmeasuredLink {
        /// The sending NIC.
        from: NicName,
        /// The receiving NIC.
        to: NicName,
        /// What was not measured.
        property: LinkProperty,
        /// Why it was not measured.
        reason: String,
    },
    /// A pair of nodes whose route was not measured.
    UnmeasuredWay {
        /// The sender's name.
        from: String,
        /// The receiver's name.
        to: String,
        /// Why it was not measured.
        reason: String,
    },
}

impl Finding {
    /// Returns the NICs that the finding is about; empty for findings about paths.
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
            // The peers of a slow NIC are fast with each other, so they are not suspect.
            Self::Slow { from, to, .. } => match &to[..] {
                [to] => vec![from, to],
                _ => vec![from],
            },
            Self::LinkMtu { from, to, .. } | Self::UnmeasuredLink { from, to, .. } => {
                vec![from, to]
            }
            Self::Route { .. }
            | Self::Unreached { .. }
            | Self::Reached { .. }
            | Self::UnmeasuredWay { .. } => Vec::new(),
        }
    }

    /// Whether this is no difference, but something that could not be compared.
    pub fn is_unmeasured(&self) -> bool {
        self.unmeasured().is_some()
    }

    /// Returns what was not measured, and why; `None` for a difference.
    fn unmeasured(&self) -> Option<String> {
        match self {
            Self::UnmeasuredLink { from, to, property, reason } => {
                Some(format!("{property} of {from} -> {to}: {}", printable::line(reason)))
            }
            Self::UnmeasuredWay { from, to, reason } => {
                Some(format!("the route {from} -> {to}: {}", printable::line(reason)))
            }
            _ => None,
        }
    }

    /// Returns a hint for the user: how to repair the fault, or where to look for it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoNic { .. } => {
                "run `ip link` on the node; if the NIC has another name, rename it (systemd.link), or \
                 give it the planned address"
            }
            Self::Swapped { .. } => "exchange the cables of these NICs at one end",
            Self::Missing { carrier: false, .. } => "plug in the cable at both ends, or replace it",
            Self::Missing { carrier: true, .. } => {
                "follow the cable: it leads to another device than planned, or that device drops the frames"
            }
            Self::Misplaced { .. } => "move the cable of this NIC",
            Self::Joined { .. } => "remove the cable that joins the two media",
            Self::Extra { .. } => "remove the cable, or add it to the topology",
            Self::Slow { .. } => {
                "check speed, duplex and errors at both ends with ethtool; then try another cable and \
                 another port"
            }
            Self::Speed { .. } => "try another cable and another port; see ethtool at both ends",
            Self::HalfDuplex { .. } => {
                "enable autonegotiation at both ends: ethtool -s NIC autoneg on; if only one end \
                 negotiates, it becomes half duplex"
            }
            Self::Mtu { .. } => "run ip link set NIC mtu N; garland net config sets it permanently",
            Self::LinkMtu { .. } => "raise the MTU of the switch ports between these NICs",
            Self::Route { .. } => {
                "compare `ip route get` with garland net show; garland net config writes the routes"
            }
            Self::Unreached { .. } => {
                "check routes, net.ipv4.ip_forward and rp_filter of the nodes on the path; \
                 garland net config sets them"
            }
            Self::Reached { .. } => "set net.ipv4.ip_forward to 0 on nodes that should not forward",
            Self::UnmeasuredLink { .. } | Self::UnmeasuredWay { .. } => {
                "look for a firewall between these nodes, and on the receiver for strangers that \
                 connect to its agent (ss -tnp); then run this command again"
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNic { nic } => write!(f, "{} has no NIC {}", nic.node, nic.nic),
            Self::Swapped { nics } => swapped(f, nics),
            Self::Missing { nics, peers, carrier } => missing(f, nics, peers, *carrier),
            Self::Misplaced { nic, planned, found } => {
                write!(
                    f,
                    "misplaced: {nic} is connected to {} instead of {}",
                    list(found),
                    list(planned)
                )
            }
            Self::Joined { one, other } => {
                write!(f, "extra: a cable joins {} and {}", list(one), list(other))
            }
            Self::Extra { nics, planned } if planned.is_empty() => {
                write!(f, "extra: {} reach each other, but are not in the plan", list(nics))
            }
            Self::Extra { nics, planned } => {
                write!(f, "extra: {} is not in the plan, but reaches {}", list(nics), list(planned))
            }
            Self::Slow { from, to, measured, planned, one_way } => {
                let arrow = if *one_way { "->" } else { "-" };
                let measured = rate(*measured);
                let planned = rate(*planned);
                let to = list(to);
                write!(f, "slow: {from} {arrow} {to}: {measured} of payload, planned {planned}")
            }
            Self::Speed { nic, peers, found, planned } => {
                let [found, planned] = [*found, *planned].map(|bits| rate(bits as f64));
                write!(
                    f,
                    "slow: {nic} (to {}) has negotiated {found}, planned {planned}",
                    list(peers)
                )
            }
            Self::HalfDuplex { nic, peers } => {
                write!(f, "half duplex: {nic} (to {})", list(peers))
            }
            Self::Mtu { nic, peers, found, planned, passes } => {
                write!(f, "MTU: {nic} (to {}) has {found}, planned {planned}", list(peers))?;
                passes.map_or(Ok(()), |bytes| write!(f, "; {bytes} bytes pass"))
            }
            Self::LinkMtu { from, to, planned, passes } => {
                write!(f, "MTU: {from} -> {to}: packets of {planned} bytes do not pass")?;
                passes.map_or(Ok(()), |bytes| write!(f, ", packets of {bytes} bytes do"))
            }
            Self::Route { from, to, planned, found } => {
                let planned = way(planned);
                let found = way(found);
                write!(f, "route: {from} -> {to} went by {found}, planned {planned}")
            }
            Self::Unreached { from, to, planned, sent, arrived } => {
                let planned = way(planned);
                write!(f, "route: {from} -> {to} by {planned}: {arrived} of {sent} packets arrived")
            }
            Self::UnmeasuredLink { .. } | Self::UnmeasuredWay { .. } => {
                write!(f, "not measured: {}", self.unmeasured().unwrap_or_default())
            }
            Self::Reached { from, to, found } => {
                write!(
                    f,
                    "route: {from} -> {to} went by {}, but the plan isolates these nodes",
                    way(found)
                )
            }
        }
    }
}

fn missing(
    f: &mut fmt::Formatter<'_>,
    nics: &[NicName],
    peers: &[NicName],
    carrier: bool,
) -> fmt::Result {
    let why = if carrier { "it has a carrier" } else { "it has no carrier" };
    if peers.is_empty() {
        return write!(f, "missing: {} receive no frames from each other", list(nics));
    }
    write!(f, "missing: {} does not reach {} ({why})", list(nics), list(peers))
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

/// Folds the names of NICs by their nodes: `n[1-4]/eth0`.
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

/// Lists NICs in the order in which packets used them.
fn way(nics: &[NicName]) -> String {
    let names: Vec<String> = nics.iter().map(NicName::to_string).collect();
    names.join(", ")
}

fn rate(bits: f64) -> String {
    format!("{:.1} Mbit/s", bits / 1e6)
}
