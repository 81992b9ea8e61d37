//! NetworkManager's keyfiles, nm-settings-keyfile(5): a file for each device.
//!
//! A wire has an address with a prefix of 32 bits and a route to the other end. A
//! route with several next hops is one route per device with a weight; NetworkManager joins them
//! (since 1.42).

use std::fmt::Write;

use super::file::PREFIX;
use super::{ConfigFault, ConfigFile, Device, Format, InterfaceAddress, NodeConfig, NodeRoute};

/// The directory of the files.
pub const FOLDER: &str = "/etc/NetworkManager/system-connections/";

/// The metric of routes with several next hops.
const METRIC: u32 = 100;

/// Returns the files of a node.
///
/// # Errors
/// When the node has MPTCP endpoints, a route selects its next hops by packet, or a route needs the
/// address of the node as source on a device with another address.
pub fn files(config: &NodeConfig) -> Result<Vec<ConfigFile>, ConfigFault> {
    config.no_packet_routes(Format::NetworkManager)?;
    // It adds endpoints, but leaves the kernel's limit of accepted addresses at 0.
    config.no_endpoints(Format::NetworkManager)?;
    own_sources(config)?;
    let mut files = Vec::new();
    if let Some(address) = config.loopback {
        let mut text = head(config, "lo", "loopback", true);
        let _ =
            write!(text, "\n[ipv4]\nmethod=manual\naddress1=127.0.0.1/8\naddress2={address}/32\n");
        files.push(file("lo", text));
    }
    for nic in &config.interfaces {
        let mut text = head(config, &nic.device.name, "ethernet", nic.device.ethernet.is_none());
        if let Some(bond) = nic.bond {
            let _ = write!(text, "master={}\nslave-type=bond\n", config.bonds[bond].name);
        }
        let _ = write!(text, "\n[ethernet]\nmtu={}\n", nic.mtu);
        if let Some(ethernet) = nic.device.ethernet {
            let _ = writeln!(text, "mac-address={ethernet}");
        }
        match nic.address {
            Some(address) => body(&mut text, config, &nic.device, address),
            None if nic.bond.is_none() => text.push_str("\n[ipv4]\nmethod=disabled\n"),
            None => {}
        }
        files.push(file(&nic.device.name, text));
    }
    for bond in &config.bonds {
        let mut text = head(config, &bond.name, "bond", true);
        let _ = write!(text, "\n[bond]\nmode={}\nmiimon=100\n", bond.mode);
        if let Some(hash) = bond.hash {
            let _ = writeln!(text, "xmit_hash_policy={hash}");
        }
        let _ = write!(text, "\n[ethernet]\nmtu={}\n", bond.mtu);
        body(&mut text, config, &bond.device(), bond.address);
        files.push(file(&bond.name, text));
    }
    Ok(files)
}

/// Rejects routes with a source address: NetworkManager ignores a route whose source address
/// belongs to another device.
fn own_sources(config: &NodeConfig) -> Result<(), ConfigFault> {
    let mut foreign = config.routes.iter().filter_map(|route| Some((route, route.source?)));
    foreign.next().map_or(Ok(()), |(NodeRoute { to, prefix, .. }, source)| {
        let what = format!("the source address {source} of the route to {to}/{prefix}");
        let able = &[Format::Ifupdown, Format::Networkd];
        Err(config.unsuited(Format::NetworkManager, what, able))
    })
}

fn file(device: &str, text: String) -> ConfigFile {
    // NetworkManager ignores files that others can read, since they may contain passwords.
    ConfigFile::new(format!("{FOLDER}{PREFIX}{device}.nmconnection"), text).with_mode(0o600)
}

fn head(config: &NodeConfig, device: &str, kind: &str, by_name: bool) -> String {
    let mut text =
        format!("# {}\n[connection]\nid=garland-{device}\ntype={kind}\n", config.title());
    if by_name {
        let _ = writeln!(text, "interface-name={device}");
    }
    text
}

fn body(text: &mut String, config: &NodeConfig, device: &Device, own: InterfaceAddress) {
    text.push_str("\n[ipv4]\nmethod=manual\n");
    let _ = writeln!(text, "address1={}/{}", own.address, own.prefix);
    let mut number = 0..;
    let mut next = || number.next().unwrap_or(0) + 1;
    if let Some(peer) = own.peer {
        let number: u32 = next();
        let _ = writeln!(text, "route{number}={peer}/32");
    }
    for route in &config.routes {
        for hop in route.hops.iter().filter(|hop| hop.device == *device) {
            let number = next();
            let mut via = hop.via.map_or_else(String::new, |via| format!(",{via}"));
            if route.hops.len() > 1 {
                // Only routes with the same metric are joined; by default each device has its own
                // metric.
                via = format!("{},{METRIC}", if via.is_empty() { "," } else { &via });
            }
            let _ = writeln!(text, "route{number}={}/{}{via}", route.to, route.prefix);
            let mut options = Vec::new();
            if hop.onlink {
                options.push("onlink=true".to_owned());
            }
            if route.hops.len() > 1 {
                options.push("weight=1".to_owned());
            }
            if !options.is_empty() {
                let _ = writeln!(text, "route{number}_options={}", options.join(","));
            }
        }
    }
    text.push_str("never-default=true\nmay-fail=false\n\n[ipv6]\nmethod=link-local\n");
}
