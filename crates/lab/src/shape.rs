//! The lab of the options `--nodes N --rate R --delay D`.

use garland_core::units::{Nanos, Rate};
use garland_topology::shapes::{Basis, switch};

use crate::Spec;

impl Spec {
    /// Returns a lab with a head `n0` and `nodes` nodes, from `n1` on, on one switch. Each port has
    /// `rate` bits per second in each direction; without a rate it is as fast as this machine.
    pub fn switch(name: &str, nodes: u32, rate: Option<u64>) -> Spec {
        let rate = rate.map(Rate::from_bits_per_second);
        let basis = Basis { rate, ..Basis::numbered("switch", nodes) };
        Spec {
            name: name.to_owned(),
            topology: switch(&basis, None),
            roots: None,
            faults: Vec::new(),
        }
    }

    /// Returns the lab with this delay, one way, in each of its media.
    #[must_use]
    pub fn delayed(mut self, delay: Nanos) -> Spec {
        self.topology.media.iter_mut().for_each(|medium| medium.delay = delay);
        self
    }
}
