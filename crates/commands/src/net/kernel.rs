//! Saves the kernel's addresses, routes and settings before an installation, and restores them.
//!
//! Addresses and routes are restored only for tools without a daemon; networkd and NetworkManager restore
//! theirs.

use std::fs;
use std::net::Ipv4Addr;

use garland_topology::config::NodeConfig;
use serde::{Deserialize, Serialize};

use super::program::{Command, flush, output};
use super::tool::DevicesPresent;
use garland_terminal::failure::Failure;

/// The state of the kernel before an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    devices: Vec<Device>,
    /// For each route, the arguments of `ip route replace`. Routes that the kernel derives from
    /// addresses are omitted.
    routes: Vec<String>,
    /// The address that the installation adds to the loopback device; `None` if it adds none, or a
    /// device had the address before.
    loopback: Option<Ipv4Addr>,
    /// Kernel settings, each with its path, which begins with `/proc/sys/`, and its content.
    settings: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Device {
    name: String,
    /// Whether the device existed before; an installation may create bonds.
    is_there: bool,
    is_up: bool,
    mtu: u32,
    /// For each address, the arguments of `ip address replace`.
    addresses: Vec<String>,
}

impl Before {
    /// Reads the state of the devices and settings that `config` will change.
    pub fn read(config: &NodeConfig, live: &DevicesPresent) -> Result<Self, Failure> {
        let lo = live.loopback.then_some("lo");
        let names: Vec<&str> = live.devices().chain(lo).collect();
        let devices: Vec<Device> =
            names.iter().map(|name| Device::read(name)).collect::<Result<_, _>>()?;
        let table = output(&Command::new("ip", ["-o", "-4", "route", "show"]))?;
        let routes = table.lines().filter(|line| !line.contains("proto kernel"));
        let ours = |line: &&str| line.split_whitespace().any(|word| names.contains(&word));
        let routes = routes.filter(ours).map(route).collect();
        let settings = config.settings().into_iter().filter_map(|(key, _)| {
            let path = format!("/proc/sys/{}", key.chars().map(swap).collect::<String>());
            Some((path.clone(), fs::read_to_string(&path).ok()?))
        });
        let settings = settings.collect();
        let there = |address: &Ipv4Addr| {
            let start = format!("{address}/");
            devices.iter().any(|device| device.addresses.iter().any(|own| own.starts_with(&start)))
        };
        let loopback = config.loopback.filter(|address| !there(address));
        Ok(Self { devices, routes, loopback, settings })
    }

    /// Restores the kernel settings; ignores errors.
    pub fn restore_settings(&self) {
        for (path, text) in &self.settings {
            let _ = fs::write(path, text);
        }
    }

    /// Returns the commands that restore the former addresses and routes of the devices, and remove
    /// all others. Failures to remove something are ignored, since it may not exist.
    pub fn restore(&self) -> Vec<Command> {
        let mut commands = Vec::new();
        if let Some(address) = self.loopback {
            let words = ["address", "delete", &format!("{address}/32"), "dev", "lo"];
            commands.push(Command::new("ip", words).may_fail());
        }
        for device in &self.devices {
            if device.name != "lo" {
                commands.push(flush(&device.name).may_fail());
            }
            if !device.is_there {
                commands
                    .push(Command::new("ip", ["link", "delete", "dev", &device.name]).may_fail());
                continue;
            }
            let mtu = device.mtu.to_string();
            let state = if device.is_up { "up" } else { "down" };
            commands
                .push(Command::new("ip", ["link", "set", "dev", &device.name, "mtu", &mtu, state]));
            for address in &device.addresses {
                let words = ["address", "replace"].into_iter().chain(address.split(' '));
                commands.push(Command::new("ip", words.chain(["dev", &device.name])));
            }
        }
        for route in &self.routes {
            let words = ["route", "replace"].into_iter().chain(route.split(' '));
            commands.push(Command::new("ip", words));
        }
        commands
    }

    /// Returns the devices that did not exist before: bonds that the installation creates.
    pub fn new_devices(&self) -> impl Iterator<Item = &str> {
        self.devices.iter().filter(|device| !device.is_there).map(|device| device.name.as_str())
    }
}

/// Exchanges dots and slashes, as sysctl(8) does between keys and paths.
fn swap(letter: char) -> char {
    match letter {
        '.' => '/',
        '/' => '.',
        other => other,
    }
}

impl Device {
    fn read(name: &str) -> Result<Self, Failure> {
        let directory = format!("/sys/class/net/{name}");
        let Ok(flags) = fs::read_to_string(format!("{directory}/flags")) else {
            let name = name.to_owned();
            return Ok(Self { name, is_there: false, is_up: false, mtu: 0, addresses: Vec::new() });
        };
        let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).unwrap_or(0);
        let mtu = fs::read_to_string(format!("{directory}/mtu")).unwrap_or_default();
        let list = output(&Command::new("ip", ["-o", "-4", "address", "show", "dev", name]))?;
        Ok(Self {
            name: name.to_owned(),
            is_there: true,
            is_up: flags & 1 == 1,
            mtu: mtu.trim().parse().unwrap_or(1500),
            addresses: list.lines().filter_map(address).collect(),
        })
    }
}

/// Converts a line of `ip -o address`, such as `2: eth0    inet 10.0.0.1 peer 10.0.0.2/32 brd 10.0.0.255
/// scope global eth0\ valid..`, to the arguments that add the address again.
fn address(line: &str) -> Option<String> {
    let (_, rest) = line.split_once(" inet ")?;
    let mut words = rest.split_whitespace();
    let mut made = vec![words.next()?];
    while let Some(word) = words.next() {
        if matches!(word, "peer" | "brd" | "scope") {
            made.extend([word, words.next()?]);
        } else if word != "dynamic" && word != "noprefixroute" {
            break;
        }
    }
    Some(made.join(" "))
}

/// Converts a line of `ip -o route` to arguments of `ip route replace`: removes the state flags.
fn route(line: &str) -> String {
    let line = line.replace('\\', " ");
    let words = line.split_whitespace();
    let state = ["linkdown", "dead", "offload", "rt_offload", "trap", "pervasive"];
    words.filter(|word| !state.contains(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ip_prints_becomes_what_it_takes() {
        let wire = "7: eth1    inet 10.88.0.10 peer 10.88.0.12/32 scope global eth1\\       valid_lft forever";
        assert_eq!(address(wire).unwrap(), "10.88.0.10 peer 10.88.0.12/32 scope global");
        let leased =
            "2: eth0    inet 10.0.0.5/24 brd 10.0.0.255 scope global dynamic eth0\\       valid";
        assert_eq!(address(leased).unwrap(), "10.0.0.5/24 brd 10.0.0.255 scope global");
        let ways = "10.9.0.1 src 10.8.0.1 \\\tnexthop via 10.1.0.1 dev a weight 1 linkdown \\\tnexthop via 10.2.0.1 dev b weight 1 ";
        assert_eq!(
            route(ways),
            "10.9.0.1 src 10.8.0.1 nexthop via 10.1.0.1 dev a weight 1 nexthop via 10.2.0.1 dev b weight 1"
        );
    }
}
