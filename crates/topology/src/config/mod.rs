//! The network configuration of a topology's real nodes, as files for the network tools of Linux.
//!
//! [`NodeConfig`] describes the configuration of one node; each format is a pure function from it
//! to files. All formats result in the same addresses, routes and settings:
//!
//! | | address of a wire | several next hops | bond | MPTCP | NIC identified by its Ethernet address |
//! |---|---|---|---|---|---|
//! | [`ifupdown`] | `pointopoint` | `up ip route` | `bond-*` (ifenslave) | `up ip mptcp` | no |
//! | [`networkd`] | `Peer=` | `MultiPathRoute=` | `.netdev` | no | yes |
//! | [`networkmanager`] | `/32` and a link route | `weight=` (since 1.42) | `type=bond` | no | yes |
//!
//! NetworkManager ignores routes whose source address belongs to another device, such as those of a
//! node with an address on its loopback device; these are rejected as well.
//!
//! If a format does not support something, the error names the formats that do. Kernel settings are
//! written to a file of sysctl.d(5), and the names of all nodes to a marked block in `/etc/hosts`
//! and to a numbered map.

mod fault;
mod file;
mod format;
pub mod hosts;
pub mod ifupdown;
pub mod networkd;
pub mod networkmanager;
mod node;
mod sysctl;

#[cfg(test)]
mod tests;

pub use fault::ConfigFault;
pub use file::{ConfigFile, Place};
pub use format::Format;
pub use node::{
    BondDevice, Device, Endpoint, Hop, Interface, InterfaceAddress, NicNames, NodeConfig, NodeRoute,
};

use self::file::PREFIX;
use super::Topology;

impl Format {
    /// Returns the files of this format for a node, including hosts and map, sorted by path.
    ///
    /// # Errors
    /// [`ConfigFault`] when the format does not support what the node needs.
    pub fn files(
        self,
        topology: &Topology,
        config: &NodeConfig,
    ) -> Result<Vec<ConfigFile>, ConfigFault> {
        let mut written = match self {
            Self::Ifupdown => ifupdown::files(config)?,
            Self::Networkd => networkd::files(config)?,
            Self::NetworkManager => networkmanager::files(config)?,
        };
        written.extend(sysctl::file(config));
        written.push(hosts::hosts(topology));
        written.push(hosts::map(topology));
        written.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(written)
    }

    /// Whether a file at `path` belongs to this format, perhaps from an earlier topology. Such
    /// files are removed if they are not part of the new configuration.
    #[must_use]
    pub fn owns(self, path: &str) -> bool {
        let (folder, files) = self.place();
        let named = |name: &str, end: &str| name.starts_with(PREFIX) && name.ends_with(end);
        files.iter().any(|file| {
            path == *file || path.strip_prefix(folder).is_some_and(|name| named(name, file))
        })
    }

    /// Returns the directory of the files that [`Self::owns`] recognizes.
    #[must_use]
    pub fn folder(self) -> &'static str {
        self.place().0
    }

    /// Returns the directory of the format's files, and the endings by which they are recognized:
    /// the whole path if there is one file only.
    fn place(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Ifupdown => ("/etc/network/interfaces.d/", &[ifupdown::PATH]),
            Self::Networkd => (networkd::FOLDER, &[".network", ".netdev"]),
            Self::NetworkManager => (networkmanager::FOLDER, &[".nmconnection"]),
        }
    }
}
