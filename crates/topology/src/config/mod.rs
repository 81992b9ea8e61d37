//! The network configuration of a topology's real nodes, as the files of the tools that Linux
//! machines have for it.
//!
//! [`NodeConfig`] says what one node needs; each format is a pure function from it to files. All
//! formats come to the same addresses, routes and settings:
//!
//! | | address of a wire | several next hops | bond | MPTCP | a NIC known by its Ethernet address |
//! |---|---|---|---|---|---|
//! | [`ifupdown`] | `pointopoint` | `up ip route` | `bond-*` (ifenslave) | `up ip mptcp` | no |
//! | [`networkd`] | `Peer=` | `MultiPathRoute=` | `.netdev` | no | yes |
//! | [`netplan`] | `/32` and a link route | no | `bonds:` | no | yes |
//! | [`networkmanager`] | `/32` and a link route | `weight=` (since 1.42) | `type=bond` | no | yes |
//! | [`iproute2`] | `peer` | `nexthop` | `type bond` | `ip mptcp` | yes |
//!
//! NetworkManager moreover leaves out routes whose source address another device has, as those of a
//! node with an address on its loopback device: they are refused too.
//!
//! What a format has no word for is refused, with the formats that have one. Kernel settings go to
//! a file of sysctl.d(5) (the iproute2 script makes them itself); the names of all nodes go to a
//! marked block in `/etc/hosts` and to a numbered map.

mod fault;
mod file;
pub mod hosts;
pub mod ifupdown;
pub mod iproute2;
pub mod netplan;
pub mod networkd;
pub mod networkmanager;
mod node;
mod sysctl;

#[cfg(test)]
mod tests;

pub use fault::ConfigFault;
pub use file::{ConfigFile, Place};
pub use node::{
    BondDevice, Device, Endpoint, Hop, Interface, InterfaceAddress, NicNames, NodeConfig, NodeRoute,
};

use super::{NodeId, Topology};

/// A tool that configures networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Debian's ifup and ifdown, interfaces(5).
    Ifupdown,
    /// systemd-networkd.
    Networkd,
    /// Netplan, with systemd-networkd behind it.
    Netplan,
    /// NetworkManager's keyfiles.
    NetworkManager,
    /// A shell script of `ip` commands.
    Iproute2,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] =
        [Self::Ifupdown, Self::Networkd, Self::Netplan, Self::NetworkManager, Self::Iproute2];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ifupdown => "ifupdown",
            Self::Networkd => "networkd",
            Self::Netplan => "netplan",
            Self::NetworkManager => "networkmanager",
            Self::Iproute2 => "iproute2",
        }
    }

    /// The files that `config` makes of this format, hosts and map included, in order of their
    /// paths.
    ///
    /// # Errors
    /// [`ConfigFault`] when the format can't express what the node needs.
    pub fn files(
        self,
        topology: &Topology,
        config: &NodeConfig,
    ) -> Result<Vec<ConfigFile>, ConfigFault> {
        let mut files = match self {
            Self::Ifupdown => ifupdown::files(config)?,
            Self::Networkd => networkd::files(config)?,
            Self::Netplan => netplan::files(config)?,
            Self::NetworkManager => networkmanager::files(config)?,
            Self::Iproute2 => iproute2::files(config)?,
        };
        if self != Self::Iproute2 {
            files.extend(sysctl::file(config));
        }
        files.push(hosts::hosts(topology));
        files.push(hosts::map(topology));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Whether `path` is where this format's own files of an earlier topology may be: those that a
    /// new one doesn't have are removed.
    #[must_use]
    pub fn owns(self, path: &str) -> bool {
        let named = |folder: &str, ends: &[&str]| {
            path.strip_prefix(folder).is_some_and(|name| {
                name.starts_with(PREFIX) && ends.iter().any(|end| name.ends_with(end))
            })
        };
        match self {
            Self::Ifupdown => path == ifupdown::PATH,
            Self::Networkd => named(networkd::FOLDER, &[".network", ".netdev"]),
            Self::Netplan => path == netplan::PATH,
            Self::NetworkManager => named(networkmanager::FOLDER, &[".nmconnection"]),
            Self::Iproute2 => path == iproute2::PATH,
        }
    }

    /// The folders with files that [`Self::owns`] may know.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Networkd => networkd::FOLDER,
            Self::NetworkManager => networkmanager::FOLDER,
            Self::Ifupdown => "/etc/network/interfaces.d/",
            Self::Netplan => "/etc/netplan/",
            Self::Iproute2 => "/etc/garland/",
        }
    }
}

/// What the names of our own files begin with, where a format has many. Tools take files in order
/// of their names, and the first that fits a device counts.
const PREFIX: &str = "10-garland-";

/// What [`Format::files`] says of a node with the NIC names that its topology has.
///
/// # Errors
/// As [`NodeConfig::of`] and [`Format::files`].
pub fn files(
    topology: &Topology,
    node: NodeId,
    format: Format,
    names: &NicNames,
) -> Result<Vec<ConfigFile>, ConfigFault> {
    format.files(topology, &NodeConfig::of(topology, node, names)?)
}

/// The line that every file begins with, without the sign of a comment.
fn title(config: &NodeConfig) -> String {
    format!("{} in the topology {}; written by garland net config", config.node, config.topology)
}
