//! The commands that make the tool of each format apply changed files.

use std::fs;

use garland_topology::config::{Device, Format, NodeConfig};
use serde::{Deserialize, Serialize};

use super::program::{Command, flush, output};
use garland_terminal::failure::{Failure, OrFailure};

/// The names of a node's devices on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicesPresent {
    /// The names of the NICs, in the order of the configuration.
    pub nics: Vec<String>,
    /// The names of the bonds.
    pub bonds: Vec<String>,
    /// Whether the loopback device gets an address.
    pub loopback: bool,
}

impl DevicesPresent {
    /// Returns the names that the devices have in the planned files.
    pub fn planned(config: &NodeConfig) -> Self {
        let name = |device: &Device| device.name.clone();
        Self {
            nics: config.interfaces.iter().map(|nic| name(&nic.device)).collect(),
            bonds: config.bonds.iter().map(|bond| bond.name.clone()).collect(),
            loopback: config.loopback.is_some(),
        }
    }

    /// Finds the devices on this machine, by name or Ethernet address.
    ///
    /// # Errors
    /// When this machine lacks one of the NICs.
    pub fn find(config: &NodeConfig) -> Result<Self, Failure> {
        let entries = fs::read_dir("/sys/class/net").or_nothing("reading /sys/class/net")?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        let find = |device: &Device| {
            let is_it = |name: &&String| match device.ethernet {
                None => **name == device.name,
                Some(ethernet) => {
                    let path = format!("/sys/class/net/{name}/address");
                    fs::read_to_string(path).is_ok_and(|text| text.trim() == ethernet.to_string())
                }
            };
            names.iter().find(is_it).cloned().ok_or_else(|| {
                let what = match device.ethernet {
                    None => format!("device {}", device.name),
                    Some(ethernet) => format!("NIC with the Ethernet address {ethernet}"),
                };
                Failure::usage(format!("this machine has no {what}; {} needs it", config.node))
                    .hint(format!(
                        "map it by --map {}=NAME; the devices are {}",
                        device.name,
                        names.join(", ")
                    ))
            })
        };
        let nics = config.interfaces.iter().map(|nic| find(&nic.device));
        Ok(Self { nics: nics.collect::<Result<_, _>>()?, ..Self::planned(config) })
    }

    /// Returns the names of all NICs and bonds.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.nics.iter().chain(&self.bonds).map(String::as_str)
    }

    /// Returns the interfaces that ifupdown brings up: bonds, which bring up their NICs, and the
    /// NICs that have an address.
    fn stanzas(&self, config: &NodeConfig) -> Vec<String> {
        let own = config.interfaces.iter().zip(&self.nics).filter(|(nic, _)| nic.address.is_some());
        own.map(|(_, name)| name.clone()).chain(self.bonds.iter().cloned()).collect()
    }
}

/// Returns the programs that `format` needs, and the Debian package of its tool.
pub fn needs(format: Format) -> (&'static [&'static str], &'static str) {
    match format {
        Format::Ifupdown => (&["ifup", "ifdown", "ip", "sysctl"], "ifupdown"),
        Format::Networkd => (&["networkctl", "ip", "sysctl"], "systemd"),
        Format::Netplan => (&["netplan", "ip", "sysctl"], "netplan.io"),
        Format::NetworkManager => (&["nmcli", "ip", "sysctl"], "network-manager"),
        Format::Iproute2 => (&["sh", "ip", "sysctl"], "iproute2"),
    }
}

/// Returns the commands that apply the new files.
pub fn apply(format: Format, config: &NodeConfig, live: &DevicesPresent) -> Vec<Command> {
    let mut commands = Vec::new();
    if format != Format::Iproute2 && !config.settings().is_empty() {
        commands.push(Command::new("sysctl", ["-q", "-p", "/etc/sysctl.d/60-garland.conf"]));
    }
    match format {
        Format::Ifupdown => {
            // No address of another configuration may remain.
            commands.extend(live.devices().map(|device| flush(device).may_fail()));
            if live.loopback {
                commands.push(Command::new("ifup", ["--force", "lo"]));
            }
            let stanzas = live.stanzas(config);
            commands.push(Command::new("ifup", stanzas.iter().map(String::as_str)));
        }
        Format::Networkd => commands.extend(networkd(live)),
        Format::Netplan => commands.push(Command::new("netplan", ["apply"])),
        Format::NetworkManager => {
            commands.push(Command::new("nmcli", ["connection", "reload"]));
            let lo = live.loopback.then_some("lo");
            let planned = DevicesPresent::planned(config);
            for device in lo.into_iter().chain(planned.devices()) {
                let name = format!("garland-{device}");
                let words = ["--wait", "30", "connection", "up", "id", &name];
                commands.push(Command::new("nmcli", words));
            }
        }
        Format::Iproute2 => {
            commands.extend(live.devices().map(|device| flush(device).may_fail()));
            commands.push(Command::new("sh", ["/etc/garland/network.sh"]));
        }
    }
    commands
}

/// Returns the commands to run before the files are replaced: ifdown must read the former files.
pub fn let_go(format: Format, config: &NodeConfig, live: &DevicesPresent) -> Vec<Command> {
    match format {
        Format::Ifupdown => {
            let stanzas = live.stanzas(config);
            stanzas
                .iter()
                .map(|name| Command::new("ifdown", ["--force", name]).may_fail())
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the commands that apply the former files once these have been restored. `was_up` lists
/// the interfaces or connections that were up before the installation.
pub fn go_back(format: Format, live: &DevicesPresent, was_up: &[String]) -> Vec<Command> {
    match format {
        Format::Ifupdown => {
            was_up.iter().map(|name| Command::new("ifup", [name.as_str()]).may_fail()).collect()
        }
        Format::Networkd => networkd(live),
        Format::Netplan => vec![Command::new("netplan", ["apply"])],
        Format::NetworkManager => {
            let reload = Command::new("nmcli", ["connection", "reload"]);
            // A DHCP lease may take long or fail, as before the installation: do not wait for it.
            let up = |uuid: &String| {
                let words = ["--wait", "0", "connection", "up", "uuid", uuid.as_str()];
                Command::new("nmcli", words).may_fail()
            };
            [reload].into_iter().chain(was_up.iter().map(up)).collect()
        }
        Format::Iproute2 => Vec::new(),
    }
}

/// Returns what the tool has brought up on the devices `live`: interface names for ifupdown,
/// connection UUIDs for NetworkManager. Empty for other formats.
pub fn up_now(format: Format, live: &DevicesPresent) -> Vec<String> {
    let lines = |program: &str, words: &[&str]| {
        let said = output(&Command::new(program, words.iter().copied())).unwrap_or_default();
        said.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    match format {
        Format::Ifupdown => {
            let known = lines("ifquery", &["--state"]);
            // Lines such as "eth0=eth0": the device, and the stanza that brought it up.
            let names = known.iter().filter_map(|line| line.split('=').next());
            names
                .filter(|name| live.devices().any(|device| device == *name))
                .map(str::to_owned)
                .collect()
        }
        Format::NetworkManager => {
            let active = lines("nmcli", &["-g", "UUID,DEVICE", "connection", "show", "--active"]);
            let pairs = active.iter().filter_map(|line| line.split_once(':'));
            let ours = pairs.filter(|(_, device)| live.devices().any(|own| own == *device));
            ours.map(|(uuid, _)| uuid.to_owned()).collect()
        }
        Format::Networkd | Format::Netplan | Format::Iproute2 => Vec::new(),
    }
}

fn networkd(live: &DevicesPresent) -> Vec<Command> {
    let reload = Command::new("networkctl", ["reload"]);
    let lo = live.loopback.then_some("lo");
    let words = ["reconfigure"].into_iter().chain(lo).chain(live.nics.iter().map(String::as_str));
    vec![reload, Command::new("networkctl", words)]
}
