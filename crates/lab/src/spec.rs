use std::path::PathBuf;

use garland_topology::Topology;
use garland_topology::miswiring::{Miswiring, miswired};
use serde::{Deserialize, Serialize};

use crate::{LabError, fault_in, medium, shaping};

/// The maximum length of a lab's name, in bytes. The name is part of paths and tables.
const LONGEST_NAME: usize = 32;

/// The description of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The lab's name: 1 to 32 letters, digits, `-` and `_`.
    pub name: String,
    /// The topology to emulate.
    pub topology: Topology,
    /// The directory in which `garland-lab-NAME` is created, with the root directories of the
    /// nodes; `None` for the lab's own directory. With `/dev/shm`, for instance, a benchmark uses
    /// no disk.
    pub roots: Option<PathBuf>,
    /// Differences of the cabling from the topology. Addresses and routes stay as in the topology.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Miswiring>,
}

impl Spec {
    /// Checks that the lab can be built.
    ///
    /// # Errors
    /// [`LabError::Spec`] names the first fault.
    pub fn validate(&self) -> Result<(), LabError> {
        self.fault()
            .map_or(Ok(()), |reason| Err(LabError::Spec { name: self.name.clone(), reason }))
    }

    /// Returns the names of all nodes, the head first.
    pub fn node_names(&self) -> impl Iterator<Item = &str> {
        self.topology.nodes.iter().map(|node| node.name.as_str())
    }

    /// Returns the head's name; empty in a topology without nodes, which is not valid.
    pub fn head(&self) -> &str {
        self.node_names().next().unwrap_or_default()
    }

    /// Returns the TCP goodput of a single flow through the slowest medium that nodes are plugged
    /// into, in bits per second; `None` if the rate of such a medium is not limited.
    pub fn goodput(&self) -> Option<f64> {
        let media = 0..self.topology.media.len();
        let used = media.filter(|medium| self.topology.stations(*medium).next().is_some());
        let slowest = used.map(|medium| medium::goodput(&self.topology, medium));
        slowest.reduce(|one, other| Some(one?.min(other?))).flatten()
    }

    /// Returns warnings about properties that the lab emulates badly on a machine with `cpus` CPUs:
    /// media that carry more than the machine can move. Two CPUs of 2.6 GHz can emulate at most 20
    /// relays at 1 Gbit/s each (measured), which is 10 Gbit/s of links per CPU.
    pub fn cautions(&self, cpus: usize) -> Vec<String> {
        let mut cautions = Vec::new();
        let all = shaping::load(&self.cabled());
        let able = 10_000_000_000 * cpus as u64;
        if all > able {
            cautions.push(format!(
                "the links have {:.1} Gbit/s in total, but {cpus} CPUs can emulate about {:.0} Gbit/s; \
                 results may show the limits of this machine",
                all as f64 / 1e9,
                able as f64 / 1e9
            ));
        }
        cautions
    }

    /// Returns the topology with the cabling faults applied.
    pub fn cabled(&self) -> Topology {
        // A spec with faults that cannot be applied is not valid.
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

/// Returns why `name` is not a valid name of a lab and its directory; `None` if it is valid.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > LONGEST_NAME {
        Some("the name of a lab must have 1 to 32 characters")
    } else if !name.chars().all(plain) || name.starts_with('-') {
        Some(
            "the name of a lab must consist of letters, digits, - and _, and must not begin with -",
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use garland_core::units::Nanos;

    use super::*;

    #[test]
    fn refuses_what_cannot_be() {
        assert!(Spec::switch("lab", 20, Some(1_000_000_000)).validate().is_ok());
        assert!(Spec::switch("lab", 1000, None).validate().is_ok());
        let far = Spec::switch("lab", 2, Some(1_000_000)).delayed(Nanos::from_millis(100));
        assert!(far.validate().is_ok());
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
            Spec::switch("lab", 1, None).delayed(Nanos::from_millis(1)),
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn warns_of_more_than_the_host_can_carry() {
        assert!(Spec::switch("lab", 20, Some(1_000_000_000)).cautions(2).is_empty());
        assert_eq!(Spec::switch("lab", 30, Some(1_000_000_000)).cautions(2).len(), 1);
        assert!(Spec::switch("lab", 30, None).cautions(2).is_empty());
    }
}
