//! What is wrong in a lab whose wires are measured, drawn from the seed.

use std::collections::BTreeSet;
use std::fmt;

use garland_testkit::Chance;
use serde_json::Value;

/// The rate of every wire, in Mbit/s.
pub const RATE_MBIT: u64 = 50;

/// A rate that differs from the wires' by more than this fraction is wrong.
const OFF: f64 = 0.1;

/// What is wrong. Nodes are given by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: all wires are equal.
    None,
    /// A node sends and receives at so many percent.
    Slow(u32, u64),
    /// A node sends at so many percent.
    SlowOut(u32, u64),
    /// A node receives at so many percent.
    SlowIn(u32, u64),
    /// Two nodes reach each other at so many percent.
    SlowPair(u32, u32, u64),
    /// So many of a thousand frames are lost from a node and to it.
    Loss(u32, u64),
    /// So many of a thousand frames are lost from a node.
    LossOut(u32, u64),
    /// So many of a thousand frames are lost to a node.
    LossIn(u32, u64),
    /// The trunk between the switches has so many percent of a wire's rate.
    Trunk(u64),
    /// The trunk has so many percent of a wire's rate from the first switch to the second.
    TrunkOneWay(u64),
}

/// A lab and what is wrong in it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub number: u64,
    pub nodes: u32,
    /// Whether the nodes are on two switches, and whether they are so in turns.
    pub trunk: Option<bool>,
    pub fault: Fault,
}

impl Case {
    /// The faulty lab `number` of `seed`.
    pub fn draw(seed: u64, number: u64) -> Self {
        let mut chance = Chance::new(seed, number);
        let nodes = 5 + chance.below(4) as u32;
        let node = 1 + chance.below(u64::from(nodes)) as u32;
        let other = 1 + (node + chance.below(u64::from(nodes) - 1) as u32) % nodes;
        let percent = 20 + chance.below(51);
        let lost = 10 + chance.below(31);
        let fault = match number % 12 {
            1 => Fault::Slow(node, percent),
            2 => Fault::SlowOut(node, percent),
            3 => Fault::SlowIn(node, percent),
            4 => Fault::SlowPair(node.min(other), node.max(other), percent),
            5 | 6 => Fault::Loss(node, lost),
            7 | 8 => Fault::LossOut(node, lost),
            9 => Fault::LossIn(node, lost),
            10 | 0 => Fault::Trunk(percent),
            _ => Fault::TrunkOneWay(percent),
        };
        let is_trunk = matches!(fault, Fault::Trunk(_) | Fault::TrunkOneWay(_));
        Self { number, nodes, trunk: is_trunk.then(|| chance.below(3) > 0), fault }
    }

    /// The healthy lab `number` of `seed`. Some have a trunk that carries as much as one wire.
    pub fn healthy(seed: u64, number: u64) -> Self {
        let mut chance = Chance::new(seed, 1000 + number);
        let nodes = 4 + chance.below(5) as u32;
        let trunk = (chance.below(2) > 0).then(|| chance.below(2) > 0);
        Self { number, nodes, trunk, fault: Fault::None }
    }

    /// Whether a node is on the first switch. The head always is.
    pub fn is_near(&self, node: u32) -> bool {
        match self.trunk {
            Some(true) => node.is_multiple_of(2),
            Some(false) => node <= self.nodes / 2,
            None => true,
        }
    }

    /// Returns the part that should be named, and its nodes: one group, or two.
    fn part(&self) -> Option<(&'static str, Vec<BTreeSet<String>>)> {
        let set = |nodes: &[u32]| nodes.iter().map(|node| format!("lab:n{node}")).collect();
        let sides = || {
            let (near, far): (Vec<u32>, Vec<u32>) =
                (1..=self.nodes).partition(|&n| self.is_near(n));
            vec![set(&near), set(&far)]
        };
        Some(match self.fault {
            Fault::None => return None,
            Fault::Slow(node, _) | Fault::Loss(node, _) => ("node", vec![set(&[node])]),
            Fault::SlowOut(node, _) | Fault::LossOut(node, _) => ("sending", vec![set(&[node])]),
            Fault::SlowIn(node, _) | Fault::LossIn(node, _) => ("receiving", vec![set(&[node])]),
            Fault::SlowPair(one, other, _) => ("pair", vec![set(&[one, other])]),
            Fault::Trunk(_) => ("between", sides()),
            Fault::TrunkOneWay(_) => ("across", sides()),
        })
    }

    /// Returns the rate from one node to another in bytes of payload per second; `None` for what a
    /// loss leaves.
    fn rate(&self, from: u32, to: u32) -> Option<f64> {
        let crosses = self.trunk.is_some() && self.is_near(from) != self.is_near(to);
        let percent = match self.fault {
            Fault::Loss(..) | Fault::LossOut(..) | Fault::LossIn(..) => return None,
            Fault::Slow(node, share) if from == node || to == node => share,
            Fault::SlowOut(node, share) if from == node => share,
            Fault::SlowIn(node, share) if to == node => share,
            Fault::SlowPair(one, other, share)
                if [(one, other), (other, one)].contains(&(from, to)) =>
            {
                share
            }
            Fault::Trunk(share) if crosses => share,
            Fault::TrunkOneWay(share) if crosses && self.is_near(from) => share,
            _ => 100,
        };
        Some((RATE_MBIT * percent) as f64 * 1e4 / 8.0 * 1448.0 / 1538.0)
    }

    /// Returns how many rates of a result are wrong by more than [`OFF`].
    pub fn wrong_rates(&self, result: &Value) -> usize {
        let node = |value: &Value| value.as_str()?.strip_prefix("lab:n")?.parse().ok();
        let is_wrong = |way: &&Value| {
            let rate = node(&way["from"]).zip(node(&way["to"]));
            let rate = rate.and_then(|(from, to)| self.rate(from, to)).zip(way["rate"].as_f64());
            rate.is_some_and(|(made, said)| (said / made - 1.0).abs() > OFF)
        };
        result["directions"].as_array().into_iter().flatten().filter(is_wrong).count()
    }

    /// Whether a fault of a result is the one of this case.
    pub fn is_named(&self, named: &Value) -> bool {
        let Some((part, mut nodes)) = self.part() else { return false };
        let set = |field: &str| -> BTreeSet<String> {
            let names = named[field].as_array().into_iter().flatten().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        };
        let mut said: Vec<BTreeSet<String>> = [set("nodes"), set("others")].into();
        said.retain(|group| !group.is_empty());
        if part == "between" {
            said.sort();
            nodes.sort();
        }
        let lost = named["lost"].as_f64().unwrap_or(0.0) * 1000.0;
        let is_lossy = match self.fault {
            Fault::Loss(_, lost) | Fault::LossOut(_, lost) | Fault::LossIn(_, lost) => Some(lost),
            _ => None,
        };
        named["part"] == part
            && said == nodes
            && is_lossy.is_none_or(|made| (0.5..=1.5).contains(&(lost / made as f64)))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = match self.trunk {
            Some(true) => ", two switches, names in turns",
            Some(false) => ", two switches",
            None => "",
        };
        write!(f, "{}: {} nodes{names}; {:?}", self.number, self.nodes, self.fault)
    }
}
