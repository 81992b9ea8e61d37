//! ifupdown, interfaces(5): a file that Debian's `/etc/network/interfaces` includes.

use std::fmt::Write;

use super::super::Selector;
use super::{
    ConfigFault, ConfigFile, Device, Format, Hop, Interface, InterfaceAddress, NodeConfig,
    NodeRoute,
};

/// The path of the file.
pub const PATH: &str = "/etc/network/interfaces.d/garland";

/// Returns the file of a node.
///
/// # Errors
/// When the device name of a NIC is unknown, or a route selects its next hops by packet.
pub fn files(config: &NodeConfig) -> Result<Vec<ConfigFile>, ConfigFault> {
    if let Some(nic) = config.interfaces.iter().find(|nic| nic.device.ethernet.is_some()) {
        return Err(config.needs_name(Format::Ifupdown, &nic.device));
    }
    config.no_packet_routes(Format::Ifupdown)?;
    let mut text = format!("# {}\n", config.title());
    if !config.bonds.is_empty() {
        text.push_str("# bond-* needs the package ifenslave\n");
    }
    if let Some(address) = config.loopback {
        let _ = write!(text, "\nauto lo\niface lo inet static\n    address {address}/32\n");
    }
    let mut limits = limits_command(config);
    for nic in &config.interfaces {
        interface(&mut text, config, nic, &mut limits);
    }
    for bond in &config.bonds {
        let members: Vec<&str> =
            bond.members.iter().map(|&nic| config.interfaces[nic].device.name.as_str()).collect();
        let _ = write!(text, "\nauto {0}\niface {0} inet static\n", bond.name);
        address(&mut text, bond.address);
        let _ = writeln!(text, "    mtu {}", bond.mtu);
        let _ = writeln!(text, "    bond-slaves {}", members.join(" "));
        let _ = writeln!(text, "    bond-mode {}\n    bond-miimon 100", bond.mode);
        if let Some(hash) = bond.hash {
            let _ = writeln!(text, "    bond-xmit-hash-policy {hash}");
        }
        routes(&mut text, config, &bond.device());
    }
    Ok(vec![ConfigFile::new(PATH, text)])
}

fn interface(text: &mut String, config: &NodeConfig, nic: &Interface, limits: &mut Option<String>) {
    let name = &nic.device.name;
    let Some(own) = nic.address else {
        // Its bond activates it.
        let _ = write!(text, "\niface {name} inet manual\n    mtu {}\n", nic.mtu);
        return;
    };
    let _ = write!(text, "\nauto {name}\niface {name} inet static\n");
    address(text, own);
    let _ = writeln!(text, "    mtu {}", nic.mtu);
    routes(text, config, &nic.device);
    if let Some(limits) = limits.take() {
        let _ = writeln!(text, "    up {limits}");
    }
    for endpoint in config.endpoints.iter().filter(|endpoint| endpoint.device == nic.device) {
        let _ =
            writeln!(text, "    up ip mptcp endpoint add {} dev {name} signal", endpoint.address);
        // The kernel keeps the endpoint when the address is removed.
        let _ = writeln!(
            text,
            "    down ip mptcp endpoint show | sed -n 's/^{} id \\([0-9]*\\).*/\\1/p' | \
             xargs -r -n 1 ip mptcp endpoint delete id",
            endpoint.address.to_string().replace('.', "\\.")
        );
    }
}

fn address(text: &mut String, own: InterfaceAddress) {
    let _ = writeln!(text, "    address {}/{}", own.address, own.prefix);
    if let Some(peer) = own.peer {
        // The kernel adds the host route, so `up route add -host PEER dev NIC` is not needed.
        let _ = writeln!(text, "    pointopoint {peer}");
    }
}

fn routes(text: &mut String, config: &NodeConfig, device: &Device) {
    for route in config.routes_at(device) {
        let _ = writeln!(text, "    up ip route replace {}", route_words(route));
    }
}

/// Returns the arguments of ip-route(8) for a route.
fn route_words(route: &NodeRoute) -> String {
    let hop = |hop: &Hop| {
        let via = hop.via.map_or_else(String::new, |via| format!("via {via} "));
        let onlink = if hop.onlink { " onlink" } else { "" };
        format!("{via}dev {}{onlink}", hop.device.name)
    };
    let mut words = format!("{}/{}", route.to, route.prefix);
    if let Some(source) = route.source {
        let _ = write!(words, " src {source}");
    }
    match &route.hops[..] {
        [one] => {
            let _ = write!(words, " {}", hop(one));
        }
        several => {
            for one in several {
                let _ = write!(words, " nexthop {}", hop(one));
            }
        }
    }
    words
}

/// Returns the command that allows one more subflow per endpoint; `None` without endpoints.
fn limits_command(config: &NodeConfig) -> Option<String> {
    let more = config.endpoints.len();
    (more > 0).then(|| format!("ip mptcp limits set subflow {more} add_addr_accepted {more}"))
}

impl NodeConfig {
    /// Rejects routes that select their next hops by packet. Linux selects next hops by flow; only
    /// nftables rules with marks can select by packet, and no configuration format supports them.
    pub(super) fn no_packet_routes(&self, format: Format) -> Result<(), ConfigFault> {
        let by_packet = self
            .routes
            .iter()
            .find(|route| route.hops.len() > 1 && route.selector == Selector::Packet);
        by_packet.map_or(Ok(()), |NodeRoute { to, prefix, .. }| {
            let what = format!("the per-packet selection of next hops to {to}/{prefix}");
            Err(self.unsuited(format, what, &[]))
        })
    }

    /// Rejects MPTCP endpoints, for the formats that do not support them.
    pub(super) fn no_endpoints(&self, format: Format) -> Result<(), ConfigFault> {
        self.endpoints.first().map_or(Ok(()), |endpoint| {
            let what = format!("the MPTCP endpoint {}", endpoint.address);
            Err(self.unsuited(format, what, &[Format::Ifupdown]))
        })
    }

    /// Returns the error that a format does not support something, but the formats `able` do.
    pub(super) fn unsuited(
        &self,
        format: Format,
        what: String,
        able: &'static [Format],
    ) -> ConfigFault {
        ConfigFault::Unsuited { format, node: self.node.clone(), what, able }
    }

    /// Returns the error that a format needs the device name of a NIC.
    pub(super) fn needs_name(&self, format: Format, nic: &Device) -> ConfigFault {
        ConfigFault::NeedsName { format, node: self.node.clone(), nic: nic.name.clone() }
    }
}
