//! What about a node may change what is measured on it: kept in the record, and warned about where
//! it matters. Everything is as the kernel says it; what it doesn't say is left out.

use std::fs;
use std::net::TcpStream;

use garland_core::units::Nanos;
use garland_sys::{clock, nic, pinning, tcp};

/// The node's conditions, each with its name; those of the connection's way among them.
pub fn of(stream: &TcpStream) -> Vec<(String, String)> {
    let mut conditions = Conditions(Vec::new());
    if let Ok(cpus) = pinning::allowed() {
        conditions.add("cpus", cpus.len().to_string());
    }
    conditions.file("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    conditions.file("idle driver", "/sys/devices/system/cpu/cpuidle/current_driver");
    conditions
        .file("clock source", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if let Ok(load) = fs::read_to_string("/proc/loadavg") {
        conditions.add("load", load.split(' ').next().unwrap_or_default().to_owned());
    }
    if let Ok(name) = tcp::choose_congestion(stream, &[]) {
        conditions.add("congestion control", name);
    }
    let own = stream.local_addr().map(|own| own.ip().to_canonical());
    if let Some(name) = own.ok().and_then(nic::with_address) {
        conditions.nic(&name);
    }
    conditions.0
}

/// Watches whether somebody sets the wall clock meanwhile: what is measured doesn't mind, but what
/// else bears the time would be off.
pub struct Watch {
    apart_ns: i128,
}

impl Watch {
    /// From now on.
    pub fn begin() -> Self {
        Self { apart_ns: apart_ns() }
    }

    /// What happened until now, if anything did.
    pub fn end(&self) -> Option<(String, String)> {
        /// A clock that is only disciplined moves by less in any meeting.
        const STEP_NS: u128 = 100_000_000;
        let step = (apart_ns() - self.apart_ns).unsigned_abs();
        let step = u64::try_from(step).ok().filter(|&step| u128::from(step) >= STEP_NS)?;
        Some(("clock".to_owned(), format!("was set by {} meanwhile", Nanos(step))))
    }
}

fn apart_ns() -> i128 {
    i128::from(clock::wall_ns()) - i128::from(clock::now_ns())
}

struct Conditions(Vec<(String, String)>);

impl Conditions {
    fn add(&mut self, name: &str, value: String) {
        // What a kernel says is short; what doesn't end is no condition.
        if !value.is_empty() && value.len() < 200 {
            self.0.push((name.to_owned(), value));
        }
    }

    fn file(&mut self, name: &str, path: &str) {
        if let Ok(text) = fs::read_to_string(path) {
            self.add(name, text.trim().to_owned());
        }
    }

    fn nic(&mut self, name: &str) {
        self.add("nic", name.to_owned());
        if name.contains('/') {
            return;
        }
        let folder = format!("/sys/class/net/{name}");
        self.file("mtu", &format!("{folder}/mtu"));
        self.file("numa node", &format!("{folder}/device/numa_node"));
        if let Some(speed) = nic::speed(name) {
            self.add("speed, bit/s", speed.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopbacks_conditions_are_known() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let conditions = of(&stream);
        let value = |wanted: &str| {
            conditions.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        assert_eq!(value("nic"), Some("lo"));
        assert!(value("mtu").is_some_and(|mtu| mtu.parse::<u32>().is_ok()));
        assert!(value("cpus").is_some() && value("congestion control").is_some());
        assert_eq!(Watch::begin().end(), None);
    }
}
