//! Conditions of the node that may affect a measurement. They are recorded with the result, and
//! `garland_analysis::conditions` warns about them. Values are as the kernel reports them; unknown
//! ones are omitted.

use std::fs;

use garland_analysis::conditions::NIC_SPEED;
use garland_core::nic_facts::Ethernet;
use garland_core::units::Nanos;
use garland_sys::socket::TcpStream;
use garland_sys::tcp_info::TcpInfo;
use garland_sys::{clock, link_settings, nic, pinning, power, tcp};

/// Returns the names and values of the node's conditions.
pub fn of_machine() -> Vec<(String, String)> {
    let mut conditions = Conditions(Vec::new());
    conditions.machine();
    conditions.0
}

/// Returns the names and values of the conditions of the node, and of the route of a connection.
pub fn of(stream: &TcpStream) -> Vec<(String, String)> {
    let mut conditions = Conditions(Vec::new());
    conditions.machine();
    if let Ok(name) = tcp::choose_congestion(stream, &[]) {
        conditions.add("congestion control", name);
    }
    if let Ok(info) = TcpInfo::read(stream) {
        conditions.add("path mtu", info.path_mtu.to_string());
    }
    let own = stream.local_addr().map(|own| own.ip().to_canonical());
    let peer = stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
    // The node's address may belong to the loopback interface while packets use other NICs.
    let name = own.ok().and_then(nic::with_address).filter(|name| peer || name != "lo");
    if let Some(name) = name {
        conditions.nic(&name);
    }
    conditions.0
}

/// Detects whether the wall clock is set during a measurement: durations are not affected, but
/// recorded times would be wrong.
pub struct Watch {
    apart_ns: i128,
}

impl Watch {
    /// Starts to watch the clock.
    pub fn begin() -> Self {
        Self { apart_ns: apart_ns() }
    }

    /// If the wall clock was set since the start, returns the size of the change as a condition.
    pub fn end(&self) -> Option<(String, String)> {
        /// The smallest reported change, in nanoseconds: slewing causes smaller ones.
        const STEP_NS: u128 = 100_000_000;
        let step = (apart_ns() - self.apart_ns).unsigned_abs();
        let step = u64::try_from(step).ok().filter(|&step| u128::from(step) >= STEP_NS)?;
        Some(("clock".to_owned(), format!("was changed by {} during the measurement", Nanos(step))))
    }
}

fn apart_ns() -> i128 {
    i128::from(clock::wall_ns()) - i128::from(clock::now_ns())
}

struct Conditions(Vec<(String, String)>);

impl Conditions {
    fn add(&mut self, name: &str, value: String) {
        // The kernel's values are short; longer ones are ignored.
        if !value.is_empty() && value.len() < 200 {
            self.0.push((name.to_owned(), value));
        }
    }

    fn file(&mut self, name: &str, path: &str) {
        if let Ok(text) = fs::read_to_string(path) {
            self.add(name, text.trim().to_owned());
        }
    }

    fn machine(&mut self) {
        let cpus = pinning::allowed().unwrap_or_default();
        if !cpus.is_empty() {
            self.add("cpus", cpus.len().to_string());
            self.add("affinity", ranges(&cpus));
        }
        self.add("cpus online", power::online().map_or_else(String::new, |all| all.to_string()));
        self.add("governor", power::governors(&cpus).join(", "));
        self.file("idle driver", "/sys/devices/system/cpu/cpuidle/current_driver");
        if let Some(state) = power::deepest_idle(&cpus) {
            self.add("idle state", state.name);
            self.add("wake, us", state.wake_us.to_string());
        }
        self.file(
            "clock source",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        );
        if let Ok(load) = fs::read_to_string("/proc/loadavg") {
            self.add("load", load.split(' ').next().unwrap_or_default().to_owned());
        }
    }

    fn nic(&mut self, name: &str) {
        self.add("nic", name.to_owned());
        if let Ok(bytes) = link_settings::mtu(name) {
            self.add("mtu", bytes.to_string());
        }
        if let Some(speed) = link_settings::agreed(name).ok().and_then(|agreed| agreed.speed) {
            self.add(NIC_SPEED, speed.to_string());
        }
        let features = link_settings::offloads(name).unwrap_or_default();
        let on = |(name, on): (&str, bool)| format!("{name} {}", if on { "on" } else { "off" });
        self.add("offloads", features.into_iter().map(on).collect::<Vec<_>>().join(", "));
        if is_of_this_network(name) {
            self.file("numa node", &format!("/sys/class/net/{name}/device/numa_node"));
            self.file("nic cpus", &format!("/sys/class/net/{name}/device/local_cpulist"));
        }
    }
}

/// Returns whether `/sys/class/net` shows this process's interface `name`. sysfs shows the network
/// namespace in which it was mounted, where another interface may have this name.
fn is_of_this_network(name: &str) -> bool {
    let path = format!("/sys/class/net/{name}/address");
    let Some(shown) = fs::read_to_string(path).ok().filter(|_| !name.contains('/')) else {
        return false;
    };
    let own = nic::list().unwrap_or_default().into_iter().find(|nic| nic.name == name);
    own.is_some_and(|own| Ethernet(own.ethernet).to_string() == shown.trim())
}

/// Formats ascending CPU numbers like the kernel: `0-3,8`.
fn ranges(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|one, next| one + 1 == *next);
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        all => format!("{}-{}", all[0], all[all.len() - 1]),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopbacks_conditions_are_known() {
        let (stream, _far) = garland_sys::socket::pair().unwrap();
        let conditions = of(&stream);
        let value = |wanted: &str| {
            conditions.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        assert_eq!(value("nic"), Some("lo"));
        assert!(value("path mtu").is_some_and(|mtu| mtu.parse::<u32>().is_ok()));
        assert!(value("mtu").is_some_and(|mtu| mtu.parse::<u32>().is_ok()));
        assert!(value("cpus").is_some() && value("congestion control").is_some());
        assert!(value("affinity").is_some() && value("cpus online").is_some());
        assert!(value("offloads").is_some_and(|offloads| offloads.contains("gso ")));
        assert_eq!(value("numa node"), None, "the loopback is at none");
        assert_eq!(Watch::begin().end(), None);
    }

    #[test]
    fn cpus_are_formatted_like_the_kernel_does() {
        assert_eq!(ranges(&[0, 1, 2, 8, 10, 11]), "0-2,8,10-11");
        assert_eq!(ranges(&[]), "");
    }
}
