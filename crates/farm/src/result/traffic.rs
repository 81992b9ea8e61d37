//! Traffic of NICs during a run.

use std::collections::HashMap;
use std::fs;

use garland_fleet::inventory::LAB_PREFIX;
use garland_lab::Lab;
use serde::{Deserialize, Serialize};

/// The file with the counters of this process's network namespace. `/sys/class/net` would show the
/// namespace in which it was mounted.
const COUNTERS: &str = "/proc/thread-self/net/dev";

/// The number of bytes that a NIC has carried, as counted by the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicTraffic {
    /// The NIC's name on its node.
    pub nic: String,
    /// The medium that the NIC is connected to; none outside of labs.
    pub medium: Option<String>,
    /// Bytes sent by the node.
    pub sent: u64,
    /// Bytes received by the node.
    pub received: u64,
}

/// The counters of NICs at one moment: of all nodes of a lab, or of this machine.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    nics: HashMap<String, Vec<NicTraffic>>,
}

impl Traffic {
    /// Reads the counters of all nodes of `lab`, or of this machine, whose name is `own`. Counters
    /// that cannot be read are missing.
    pub fn now(lab: Option<&Lab>, own: &str) -> Self {
        let nics = match lab {
            Some(lab) => of_lab(lab),
            None => HashMap::from([(own.to_owned(), of_this_machine())]),
        };
        Self { nics }
    }

    /// Returns the traffic of the NICs of the node `name` since `before`; empty if it was not
    /// counted. Outside of labs, NICs without traffic are omitted.
    pub fn since(&self, before: &Self, name: &str) -> Vec<NicTraffic> {
        let Some(now) = self.nics.get(name) else { return Vec::new() };
        let then = |nic: &str| {
            let known = before.nics.get(name).into_iter().flatten();
            known.clone().find(|one| one.nic == nic).map_or((0, 0), |one| (one.sent, one.received))
        };
        let carried = |nic: &NicTraffic| {
            let (sent, received) = then(&nic.nic);
            NicTraffic {
                sent: nic.sent.saturating_sub(sent),
                received: nic.received.saturating_sub(received),
                ..nic.clone()
            }
        };
        now.iter()
            .map(carried)
            .filter(|nic| nic.medium.is_some() || nic.sent + nic.received > 0)
            .collect()
    }
}

fn of_lab(lab: &Lab) -> HashMap<String, Vec<NicTraffic>> {
    let nodes = lab.status().map(|status| status.nodes).unwrap_or_default();
    let nics = |node: garland_lab::NodeStatus| {
        let nic = |nic: garland_lab::NicStatus| NicTraffic {
            nic: nic.name,
            medium: Some(nic.medium),
            sent: nic.port.sent,
            received: nic.port.received,
        };
        (format!("{LAB_PREFIX}{}", node.name), node.nics.into_iter().map(nic).collect())
    };
    nodes.into_iter().map(nics).collect()
}

fn of_this_machine() -> Vec<NicTraffic> {
    read(&fs::read_to_string(COUNTERS).unwrap_or_default())
}

/// Parses `/proc/net/dev`, where a line has the name, a colon, eight counters of reception and
/// eight of transmission. The first of each eight counts bytes. Omits `lo`.
fn read(text: &str) -> Vec<NicTraffic> {
    let line = |line: &str| {
        let (name, counters) = line.split_once(':')?;
        let counters: Vec<u64> =
            counters.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let nic = name.trim().to_owned();
        let received = *counters.first()?;
        let sent = *counters.get(8)?;
        (nic != "lo").then_some(NicTraffic { nic, medium: None, sent, received })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_parsed_and_subtracted() {
        let text = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0
  eth0: 5000 50 0 0 0 0 0 0 700 7 0 0 0 0 0 0
  eth1: oops
";
        let nics = read(text);
        assert_eq!(nics.len(), 1);
        let traffic = |sent, received| {
            let nic = NicTraffic { sent, received, ..nics[0].clone() };
            Traffic { nics: HashMap::from([("n".to_owned(), vec![nic])]) }
        };
        let carried = traffic(900, 7000).since(&traffic(700, 5000), "n");
        assert_eq!((carried[0].sent, carried[0].received), (200, 2000));
        assert!(traffic(1, 1).since(&traffic(0, 0), "m").is_empty());
    }
}
