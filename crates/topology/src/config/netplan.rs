//! Netplan's YAML, rendered by systemd-networkd.
//!
//! Netplan does not support peer addresses, so a wire has an address with a prefix of 32 bits and a
//! route to the other end, which is equivalent.

use std::fmt::Write;

use super::{ConfigFault, ConfigFile, Device, Format, InterfaceAddress, NodeConfig, NodeRoute};

/// The path of the file. It is read after the files of installers, so it takes precedence.
pub const PATH: &str = "/etc/netplan/90-garland.yaml";

/// Returns the file of a node.
///
/// # Errors
/// When it has MPTCP endpoints or a route with several next hops.
pub fn files(config: &NodeConfig) -> Result<Vec<ConfigFile>, ConfigFault> {
    config.no_endpoints(Format::Netplan)?;
    config.no_packet_routes(Format::Netplan)?;
    if let Some(route) = config.routes.iter().find(|route| route.hops.len() > 1) {
        let what = format!("the route with several next hops to {}/{}", route.to, route.prefix);
        let able = &[Format::Ifupdown, Format::Networkd, Format::Iproute2];
        return Err(config.unsuited(Format::Netplan, what, able));
    }
    let mut text = format!("# {}\nnetwork:\n  version: 2\n  renderer: networkd\n", config.title());
    if config.loopback.is_some() || !config.interfaces.is_empty() {
        text.push_str("  ethernets:\n");
    }
    if let Some(address) = config.loopback {
        let _ = write!(text, "    lo:\n      addresses: [{address}/32]\n");
    }
    for nic in &config.interfaces {
        let _ = writeln!(text, "    {}:", nic.device.name);
        if let Some(ethernet) = nic.device.ethernet {
            let _ = writeln!(text, "      match:\n        macaddress: \"{ethernet}\"");
        }
        let _ = writeln!(text, "      mtu: {}\n      optional: true", nic.mtu);
        match nic.address {
            Some(address) => body(&mut text, config, &nic.device, address),
            None => text.push_str("      link-local: []\n"),
        }
    }
    if !config.bonds.is_empty() {
        text.push_str("  bonds:\n");
    }
    for bond in &config.bonds {
        let members: Vec<&str> =
            bond.members.iter().map(|&nic| config.interfaces[nic].device.name.as_str()).collect();
        let _ = write!(text, "    {}:\n      interfaces: [{}]\n", bond.name, members.join(", "));
        let _ = write!(text, "      parameters:\n        mode: {}\n", bond.mode);
        if let Some(hash) = bond.hash {
            let _ = writeln!(text, "        transmit-hash-policy: {hash}");
        }
        text.push_str("        mii-monitor-interval: 100\n");
        let _ = writeln!(text, "      mtu: {}\n      optional: true", bond.mtu);
        body(&mut text, config, &bond.device(), bond.address);
    }
    // Netplan warns about files that others can read, since they may contain passwords.
    Ok(vec![ConfigFile::new(PATH, text).with_mode(0o600)])
}

fn body(text: &mut String, config: &NodeConfig, device: &Device, own: InterfaceAddress) {
    text.push_str("      accept-ra: false\n");
    let _ = writeln!(text, "      addresses: [{}/{}]", own.address, own.prefix);
    let mut routes = config.routes_at(device).peekable();
    if own.peer.is_some() || routes.peek().is_some() {
        text.push_str("      routes:\n");
    }
    if let Some(peer) = own.peer {
        let _ = write!(text, "        - to: {peer}/32\n          scope: link\n");
        let _ = writeln!(text, "          from: {}", own.address);
    }
    routes.for_each(|route| self::route(text, route));
}

fn route(text: &mut String, route: &NodeRoute) {
    let _ = writeln!(text, "        - to: {}/{}", route.to, route.prefix);
    for hop in &route.hops {
        match hop.via {
            Some(via) => {
                let _ = writeln!(text, "          via: {via}");
            }
            None => text.push_str("          scope: link\n"),
        }
        if hop.onlink {
            text.push_str("          on-link: true\n");
        }
    }
    if let Some(source) = route.source {
        let _ = writeln!(text, "          from: {source}");
    }
}
