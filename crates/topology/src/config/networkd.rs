//! systemd.network(5) and systemd.netdev(5): a file for each device.

use std::fmt::Write;

use super::file::PREFIX;
use super::{
    ConfigFault, ConfigFile, Device, Format, Hop, InterfaceAddress, NodeConfig, NodeRoute,
};

/// The directory of the files.
pub const FOLDER: &str = "/etc/systemd/network/";

/// Returns the files of a node.
///
/// # Errors
/// When the node has MPTCP endpoints, a route selects its next hops by packet, or a route has
/// several next hops through NICs whose device names are unknown.
pub fn files(config: &NodeConfig) -> Result<Vec<ConfigFile>, ConfigFault> {
    config.no_packet_routes(Format::Networkd)?;
    config.no_endpoints(Format::Networkd)?;
    several_hops_are_named(config)?;
    let mut files = Vec::new();
    if let Some(address) = config.loopback {
        let mut text = format!("# {}\n[Match]\nName=lo\n", config.title());
        let _ = write!(text, "\n[Address]\nAddress={address}/32\n");
        files.push(file("lo", "network", text));
    }
    for nic in &config.interfaces {
        let bond = nic.bond.map(|bond| &config.bonds[bond]);
        let mut text = head(config, &nic.device, nic.mtu, bond.is_some());
        match (bond, nic.address) {
            (Some(bond), _) => {
                let _ = write!(text, "\n[Network]\nBond={}\n", bond.name);
            }
            (None, Some(address)) => body(&mut text, config, &nic.device, address),
            (None, None) => text.push_str("\n[Network]\nLinkLocalAddressing=no\n"),
        }
        files.push(file(&nic.device.name, "network", text));
    }
    for bond in &config.bonds {
        let mut netdev = format!("# {}\n[NetDev]\nName={}\nKind=bond\n", config.title(), bond.name);
        let _ = write!(netdev, "MTUBytes={}\n\n[Bond]\nMode={}\n", bond.mtu, bond.mode);
        if let Some(hash) = bond.hash {
            let _ = writeln!(netdev, "TransmitHashPolicy={hash}");
        }
        netdev.push_str("MIIMonitorSec=100ms\n");
        files.push(file(&bond.name, "netdev", netdev));
        let mut text = head(config, &bond.device(), bond.mtu, false);
        body(&mut text, config, &bond.device(), bond.address);
        files.push(file(&bond.name, "network", text));
    }
    Ok(files)
}

fn several_hops_are_named(config: &NodeConfig) -> Result<(), ConfigFault> {
    let mut hops =
        config.routes.iter().filter(|route| route.hops.len() > 1).flat_map(|route| &route.hops);
    hops.find(|hop| hop.device.ethernet.is_some())
        .map_or(Ok(()), |hop| Err(config.needs_name(Format::Networkd, &hop.device)))
}

fn file(device: &str, end: &str, text: String) -> ConfigFile {
    ConfigFile::new(format!("{FOLDER}{PREFIX}{device}.{end}"), text)
}

fn head(config: &NodeConfig, device: &Device, mtu: u16, bonded: bool) -> String {
    let mut text = format!("# {}\n[Match]\n", config.title());
    let _ = match device.ethernet {
        // A bond sets the address of all its NICs; the permanent address stays.
        Some(ethernet) if bonded => writeln!(text, "PermanentMACAddress={ethernet}"),
        Some(ethernet) => writeln!(text, "MACAddress={ethernet}\nType=ether"),
        None => writeln!(text, "Name={}", device.name),
    };
    // A neighbour that is down must not delay the boot.
    let _ = write!(text, "\n[Link]\nMTUBytes={mtu}\nRequiredForOnline=no\n");
    text
}

fn body(text: &mut String, config: &NodeConfig, device: &Device, own: InterfaceAddress) {
    text.push_str("\n[Network]\nIPv6AcceptRA=no\n");
    if config.forwards {
        text.push_str("IPForward=ipv4\n");
    }
    let _ = write!(text, "\n[Address]\nAddress={}/{}\n", own.address, own.prefix);
    if let Some(peer) = own.peer {
        let _ = writeln!(text, "Peer={peer}/32");
    }
    for route in config.routes_at(device) {
        self::route(text, route);
    }
}

fn route(text: &mut String, route: &NodeRoute) {
    let _ = write!(text, "\n[Route]\nDestination={}/{}\n", route.to, route.prefix);
    match &route.hops[..] {
        [Hop { via: Some(via), onlink, .. }] => {
            let _ = writeln!(text, "Gateway={via}");
            if *onlink {
                text.push_str("GatewayOnLink=yes\n");
            }
        }
        [_] => text.push_str("Scope=link\n"),
        several => {
            for hop in several {
                let via = hop.via.unwrap_or(route.to);
                let _ = writeln!(text, "MultiPathRoute={via}@{}", hop.device.name);
            }
        }
    }
    if let Some(source) = route.source {
        let _ = writeln!(text, "PreferredSource={source}");
    }
}
