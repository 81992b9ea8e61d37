//! Kernel settings, as a file of sysctl.d(5).

use std::fmt::Write;

use super::super::Selector;
use super::{ConfigFile, NodeConfig};

/// Where the settings go.
const PATH: &str = "/etc/sysctl.d/60-garland.conf";

impl NodeConfig {
    /// The kernel settings that the node needs, as sysctl(8) has their keys: a dot for a slash and a
    /// slash for a dot.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, &'static str)> {
        settings(self)
    }
}

fn settings(config: &NodeConfig) -> Vec<(String, &'static str)> {
    let mut settings = Vec::new();
    if config.forwards {
        settings.push(("net.ipv4.ip_forward".to_owned(), "1"));
    }
    // A packet may come in by another NIC than the one that answers leave by: the source must be
    // reachable, but through any of them (2, RFC 3704 loose). Where a device's name isn't known, all
    // devices get it.
    let devices = config.addressed();
    if devices.len() > 1 {
        if devices.iter().all(|device| device.ethernet.is_none()) {
            for device in devices {
                settings.push((format!("net.ipv4.conf.{}.rp_filter", slashed(&device.name)), "2"));
            }
        } else {
            settings.push(("net.ipv4.conf.all.rp_filter".to_owned(), "2"));
        }
    }
    let by_flow =
        |route: &super::NodeRoute| route.hops.len() > 1 && route.selector == Selector::Flow;
    if config.routes.iter().any(by_flow) {
        // Ports count too, so that several connections between two nodes can take several ways.
        settings.push(("net.ipv4.fib_multipath_hash_policy".to_owned(), "1"));
    }
    if !config.endpoints.is_empty() {
        settings.push(("net.mptcp.enabled".to_owned(), "1"));
    }
    settings
}

/// sysctl(8) takes dots for slashes: a dot of a device's name is written as a slash.
fn slashed(device: &str) -> String {
    device.replace('.', "/")
}

/// The file; none when there is nothing to set.
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
