//! A shell script of ip(8) commands, for machines without any of the other tools.
//!
//! The script can be run several times: existing settings are replaced or kept.

use std::fmt::Write;

use super::{ConfigFault, ConfigFile, Device, Format, InterfaceAddress, NodeConfig, NodeRoute};

/// The path of the script. It is not run at boot.
pub const PATH: &str = "/etc/garland/network.sh";

/// A shell function that prints the name of the NIC with an Ethernet address.
const FIND: &str = r#"
nic() {
    for found in /sys/class/net/*; do
        if [ -e "$found/device" ] && [ "$(cat "$found/address")" = "$1" ]; then
            echo "${found##*/}"
            return
        fi
    done
    echo "no NIC has the Ethernet address $1" >&2
    return 1
}
"#;

/// Returns the script of a node.
///
/// # Errors
/// When a route selects its next hops by packet.
pub fn files(config: &NodeConfig) -> Result<Vec<ConfigFile>, ConfigFault> {
    config.no_packet_routes(Format::Iproute2)?;
    let mut text = format!("#!/bin/sh\n# {}\nset -eu\n", config.title());
    if config.interfaces.iter().any(|nic| nic.device.ethernet.is_some()) {
        text.push_str(FIND);
        for device in config.interfaces.iter().map(|nic| &nic.device) {
            if let Some(ethernet) = device.ethernet {
                let _ = writeln!(text, "{}=$(nic {ethernet})", variable(device));
            }
        }
    }
    devices(&mut text, config);
    settings(&mut text, config);
    if !config.routes.is_empty() {
        text.push('\n');
    }
    for route in &config.routes {
        let _ = writeln!(text, "ip route replace {}", route_words(route, word));
    }
    let more = config.endpoints.len();
    if more > 0 {
        let _ = writeln!(text, "\nip mptcp limits set subflow {more} add_addr_accepted {more}");
    }
    for endpoint in &config.endpoints {
        let (address, device) = (endpoint.address, word(&endpoint.device));
        let _ = writeln!(text, "ip mptcp endpoint show | grep -q '^{address} ' ||");
        let _ = writeln!(text, "    ip mptcp endpoint add {address} dev {device} signal");
    }
    Ok(vec![ConfigFile::new(PATH, text).with_mode(0o755)])
}

fn devices(text: &mut String, config: &NodeConfig) {
    if let Some(address) = config.loopback {
        let _ = write!(text, "\nip address replace {address}/32 dev lo\nip link set lo up\n");
    }
    for bond in &config.bonds {
        let hash = bond.hash.map_or_else(String::new, |hash| format!(" xmit_hash_policy {hash}"));
        let _ = writeln!(
            text,
            "\nip link show {0} >/dev/null 2>&1 ||\n    ip link add {0} type bond",
            bond.name
        );
        // The mode of a bond can be changed only while it is down and has no NICs.
        let _ = writeln!(text, "ip link set {} down", bond.name);
        for &nic in &bond.members {
            let _ = writeln!(
                text,
                "ip link set {} down nomaster",
                word(&config.interfaces[nic].device)
            );
        }
        let _ = writeln!(
            text,
            "ip link set {} type bond mode {} miimon 100{hash}",
            bond.name, bond.mode
        );
        for &nic in &bond.members {
            let nic = &config.interfaces[nic];
            let _ = writeln!(text, "ip link set {} master {}", word(&nic.device), bond.name);
        }
        up(text, &bond.device(), bond.mtu, bond.address);
    }
    for nic in &config.interfaces {
        if let Some(address) = nic.address {
            text.push('\n');
            up(text, &nic.device, nic.mtu, address);
        }
    }
}

fn up(text: &mut String, device: &Device, mtu: u16, own: InterfaceAddress) {
    let device = word(device);
    let _ = writeln!(text, "ip link set {device} mtu {mtu} up");
    let _ = match own.peer {
        Some(peer) => {
            writeln!(text, "ip address replace {} peer {peer}/32 dev {device}", own.address)
        }
        None => writeln!(text, "ip address replace {}/{} dev {device}", own.address, own.prefix),
    };
}

fn settings(text: &mut String, config: &NodeConfig) {
    let settings = config.settings();
    if !settings.is_empty() {
        text.push('\n');
    }
    for (key, value) in settings {
        let _ = writeln!(text, "sysctl -qw {key}={value}");
    }
}

/// Returns the arguments of ip-route(8) for a route.
pub(super) fn route_words(route: &NodeRoute, device: impl Fn(&Device) -> String) -> String {
    let hop = |hop: &super::Hop| {
        let via = hop.via.map_or_else(String::new, |via| format!("via {via} "));
        let onlink = if hop.onlink { " onlink" } else { "" };
        format!("{via}dev {}{onlink}", device(&hop.device))
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

/// Returns the device as a word of the script.
fn word(device: &Device) -> String {
    match device.ethernet {
        Some(_) => format!("\"${}\"", variable(device)),
        None => device.name.clone(),
    }
}

fn variable(device: &Device) -> String {
    format!("nic_{}", device.name.replace(['.', '-'], "_"))
}
