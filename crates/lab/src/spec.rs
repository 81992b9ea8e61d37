use std::path::PathBuf;

use garland_core::cluster::nodelist::fold;
use garland_topology::Topology;
use garland_topology::miswiring::{Miswiring, miswired};
use serde::{Deserialize, Serialize};

use crate::{LabError, fault_in, medium, shaping};

/// The longest name of a lab: it stands in paths and on screens.
const LONGEST_NAME: usize = 32;

/// What a lab shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The lab's name: letters, digits, `-` and `_`, not more than 32 of them.
    pub name: String,
    /// What is emulated.
    pub topology: Topology,
    /// Where the nodes' root directories go, when not under the lab's own directory: on `/dev/shm`, for
    /// instance, so that a benchmark meets no disk. A directory `garland-lab-NAME` is made there.
    pub roots: Option<PathBuf>,
    /// How its cabling differs from the topology, whose addresses and routes it has all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Miswiring>,
}

impl Spec {
    /// Refuses what can't be built.
    pub fn validate(&self) -> Result<(), LabError> {
        self.fault()
            .map_or(Ok(()), |reason| Err(LabError::Spec { name: self.name.clone(), reason }))
    }

    /// All node names, the head first.
    pub fn node_names(&self) -> impl Iterator<Item = &str> {
        self.topology.nodes.iter().map(|node| node.name.as_str())
    }

    /// The head's name; empty in a topology without nodes, which isn't valid.
    pub fn head(&self) -> &str {
        self.node_names().next().unwrap_or_default()
    }

    /// TCP payload in bits per second that one flow gets through the slowest medium that nodes are
    /// plugged into; `None` where one of them is unshaped.
    pub fn goodput(&self) -> Option<f64> {
        let media = 0..self.topology.media.len();
        let used = media.filter(|medium| self.topology.stations(*medium).next().is_some());
        let slowest = used.map(|medium| medium::goodput(&self.topology, medium));
        slowest.reduce(|one, other| Some(one?.min(other?))).flatten()
    }

    /// What the lab can't show as asked, in words: media that could carry more than a machine of
    /// `cpus` processors can move, so that a result would tell of the emulator, and latencies.
    /// Measured: 20 relays at 1 Gbit/s each are the most for two processors of 2.6 GHz, so 10
    /// Gbit/s of links a processor.
    pub fn cautions(&self, cpus: usize) -> Vec<String> {
        let mut cautions = Vec::new();
        let all = shaping::load(&self.cabled());
        let able = 10_000_000_000 * cpus as u64;
        if all > able {
            cautions.push(format!(
                "links of {:.1} Gbit/s in all are more than {cpus} CPUs can carry at once (about \
                 {:.0} Gbit/s): results may be limited by the emulator",
                all as f64 / 1e9,
                able as f64 / 1e9
            ));
        }
        let slow = self.topology.media.iter().filter(|medium| medium.latency.0 > 0);
        let slow: Vec<&str> = slow.map(|medium| medium.name.as_str()).collect();
        if !slow.is_empty() {
            cautions.push(format!(
                "the latency of {} isn't emulated: labs don't delay frames, they only queue them",
                fold(&slow)
            ));
        }
        cautions
    }

    /// The topology as it is cabled: as planned, but for the faults.
    pub fn cabled(&self) -> Topology {
        // One that can't be isn't valid.
        miswired(&self.topology, &self.faults).unwrap_or_else(|_| self.topology.clone())
    }

    fn fault(&self) -> Option<String> {
        let name = name_fault(&self.name).map(str::to_owned);
        let planned = name.or_else(|| fault_in::topology(&self.topology));
        planned.or_else(|| match miswired(&self.topology, &self.faults) {
            Ok(cabled) => fault_in::cabling(&cabled),
            Err(error) => Some(error.to_string()),
        })
    }
}

/// What is wrong with a lab's name, which becomes a directory's name.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > LONGEST_NAME {
        Some("a name has 1 to 32 characters")
    } else if !name.chars().all(plain) || name.starts_with('-') {
        Some("a name consists of letters, digits, - and _, and doesn't begin with -")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_be() {
        assert!(Spec::switch("lab", 20, Some(1_000_000_000)).validate().is_ok());
        assert!(Spec::switch("lab", 1000, None).validate().is_ok());
        for wrong in [
            Spec::switch("", 1, None),
            Spec::switch("..", 1, None),
            Spec::switch("a/b", 1, None),
            Spec::switch("-rf", 1, None),
            Spec::switch(&"x".repeat(33), 1, None),
            Spec::switch("lab", 0, None),
            Spec::switch("lab", 1001, None),
            Spec::switch("lab", 1, Some(0)),
            Spec::switch("lab", 1, Some(u64::MAX)),
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn warns_of_more_than_the_host_can_carry() {
        assert!(Spec::switch("lab", 20, Some(1_000_000_000)).cautions(2).is_empty());
        assert_eq!(Spec::switch("lab", 30, Some(1_000_000_000)).cautions(2).len(), 1);
        assert!(Spec::switch("lab", 30, None).cautions(2).is_empty());
        let mut far = Spec::switch("lab", 2, None);
        far.topology.media[0].latency = garland_core::units::Nanos(50_000);
        assert!(far.cautions(2)[0].starts_with("the latency of switch isn't emulated"));
    }
}
