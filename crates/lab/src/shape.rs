//! The lab that `--nodes N --rate R` asks for.

use garland_core::units::Rate;
use garland_topology::shapes::{Basis, switch};

use crate::Spec;

impl Spec {
    /// A head `n0` and `nodes` nodes, `n1` and up, on one switch whose every port passes `rate` bits
    /// per second each way; without a rate as much as this machine copies.
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
}
