use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::address::MOST_NODES;
use crate::medium::Medium;
use crate::{LabError, address};

/// The longest name of a lab: it stands in paths and on screens.
const LONGEST_NAME: usize = 32;

/// What a lab shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The lab's name: letters, digits, `-` and `_`, not more than 32 of them.
    pub name: String,
    /// How many nodes, `n1` and up, stand beside the head `n0`.
    pub nodes: u32,
    /// What joins them.
    pub medium: Medium,
    /// Where the nodes' root folders go, when not under the lab's own directory: on `/dev/shm`, for
    /// instance, so that a benchmark meets no disk. A folder `garland-lab-NAME` is made there.
    pub roots: Option<PathBuf>,
}

impl Spec {
    /// Refuses what can't be built.
    pub fn validate(&self) -> Result<(), LabError> {
        self.fault()
            .map_or(Ok(()), |reason| Err(LabError::Spec { name: self.name.clone(), reason }))
    }

    /// All node names, the head first.
    pub fn node_names(&self) -> impl Iterator<Item = String> + use<> {
        (0..=self.nodes).map(address::name)
    }

    /// A warning when the medium could carry more than a machine of `cpus` processors can move, so
    /// that a result would tell of the emulator. Measured: 20 relays at 1 Gbit/s each are the most
    /// for two processors of 2.6 GHz, so 10 Gbit/s of links a processor.
    pub fn caution(&self, cpus: usize) -> Option<String> {
        let rate = self.medium.rate()?;
        let all = rate.saturating_mul(u64::from(self.nodes));
        let able = 10_000_000_000 * cpus as u64;
        (all > able).then(|| {
            format!(
                "{} nodes at {:.3} Gbit/s at once are more than {cpus} CPUs can carry (about {:.0} \
                 Gbit/s in all): results may be limited by the emulator",
                self.nodes,
                rate as f64 / 1e9,
                able as f64 / 1e9
            )
        })
    }

    fn fault(&self) -> Option<String> {
        if let Some(fault) = name_fault(&self.name) {
            return Some(fault.to_owned());
        }
        if self.nodes == 0 {
            return Some("0 nodes: a lab needs one node at least beside its head".to_owned());
        }
        if self.nodes > MOST_NODES {
            return Some(format!(
                "{} nodes are too many: a bridge has 1023 ports, so {MOST_NODES} is the most",
                self.nodes
            ));
        }
        self.medium.fault()
    }
}

/// What is wrong with a lab's name, which becomes a folder's name.
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

    fn spec(name: &str, nodes: u32, rate: Option<u64>) -> Spec {
        Spec { name: name.to_owned(), nodes, medium: Medium::Switch { rate }, roots: None }
    }

    #[test]
    fn refuses_what_cannot_be() {
        assert!(spec("lab", 20, Some(1_000_000_000)).validate().is_ok());
        assert!(spec("lab", 1000, None).validate().is_ok());
        for wrong in [
            spec("", 1, None),
            spec("..", 1, None),
            spec("a/b", 1, None),
            spec("-rf", 1, None),
            spec(&"x".repeat(33), 1, None),
            spec("lab", 0, None),
            spec("lab", 1001, None),
            spec("lab", 1, Some(0)),
            spec("lab", 1, Some(u64::MAX)),
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn warns_of_more_than_the_host_can_carry() {
        assert!(spec("lab", 20, Some(1_000_000_000)).caution(2).is_none());
        assert!(spec("lab", 30, Some(1_000_000_000)).caution(2).is_some());
        assert!(spec("lab", 30, None).caution(2).is_none());
    }
}
