//! The lab that `--nodes N --rate R` asks for.

use garland_core::cluster::topology::{
    Cable, Ethernet, Medium, MediumKind, Nic, Node, Price, Reach, Topology,
};
use garland_core::units::{Nanos, Rate};

use crate::{Spec, address};

impl Spec {
    /// A head `n0` and `nodes` nodes, `n1` and up, on one switch whose every port passes `rate` bits
    /// per second each way; without a rate as much as this machine copies.
    pub fn switch(name: &str, nodes: u32, rate: Option<u64>) -> Spec {
        let node = |number| Node {
            name: address::name(number),
            address: address::address(number),
            forwards: false,
            cpu: None,
            disk: None,
            price: Price::default(),
        };
        let nic = |number: u32| Nic {
            node: number as usize,
            name: "eth0".to_owned(),
            medium: 0,
            address: Some(address::address(number)),
            reach: Reach::Subnet(address::PREFIX),
            ethernet: Ethernet::of(number as usize),
            mtu: 1500,
            price: Price::default(),
        };
        let medium = Medium {
            name: "switch".to_owned(),
            kind: MediumKind::Switch { backplane: None },
            rate: rate.map(Rate::from_bits_per_second),
            latency: Nanos(0),
            buffer: None,
            price: Price::default(),
            cable: Cable::default(),
        };
        let topology = Topology {
            name: "switch".to_owned(),
            nodes: (0..=nodes).map(node).collect(),
            media: vec![medium],
            nics: (0..=nodes).map(nic).collect(),
            uplinks: Vec::new(),
            bonds: Vec::new(),
            routes: Vec::new(),
        };
        Spec { name: name.to_owned(), topology, roots: None }
    }
}
