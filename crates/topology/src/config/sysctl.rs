//! Kernel settings, as a file of sysctl.d(5).

use std::fmt::Write;

use super::super::Selector;
use super::{ConfigFile, NodeConfig};

/// The path of the file.
const PATH: &str = "/etc/sysctl.d/60-garland.conf";

impl NodeConfig {
    /// Returns the kernel settings that the node needs, as pairs of key and value. Keys are written
    /// for sysctl(8): dots separate their parts, and a slash stands for a dot in a device name.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, &'static str)> {
        let mut settings = Vec::new();
        if self.forwards {
            settings.push(("net.ipv4.ip_forward".to_owned(), "1"));
        }
        // Packets may arrive at another NIC than the one that sends replies. So the source address
        // must be reachable through any NIC (2, loose mode of RFC 3704). If a device name is
        // unknown, the setting is made for all devices.
        let devices = self.addressed();
        if devices.len() > 1 {
            if devices.iter().all(|device| device.ethernet.is_none()) {
                for device in devices {
                    settings
                        .push((format!("net.ipv4.conf.{}.rp_filter", slashed(&device.name)), "2"));
                }
            } else {
                settings.push(("net.ipv4.conf.all.rp_filter".to_owned(), "2"));
            }
        }
        let by_flow =
            |route: &super::NodeRoute| route.hops.len() > 1 && route.selector == Selector::Flow;
        if self.routes.iter().any(by_flow) {
            // Include ports in the hash, so that several connections between two nodes can use
            // several paths.
            settings.push(("net.ipv4.fib_multipath_hash_policy".to_owned(), "1"));
        }
        if !self.endpoints.is_empty() {
            settings.push(("net.mptcp.enabled".to_owned(), "1"));
        }
        settings
    }
}

/// Replaces the dots of a device name by slashes, since sysctl(8) reads a dot as a slash.
fn slashed(device: &str) -> String {
    device.replace('.', "/")
}

/// Returns the file; `None` if there are no settings.
pub(super) fn file(config: &NodeConfig) -> Option<ConfigFile> {
    let settings = config.settings();
    if settings.is_empty() {
        return None;
    }
    let mut text = format!("# {}\n", config.title());
    for (key, value) in settings {
        let _ = writeln!(text, "{key} = {value}");
    }
    Some(ConfigFile::new(PATH, text))
}
