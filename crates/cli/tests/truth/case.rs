//! What a run does, drawn from the seed: a copy, and one or two faults with their places and sizes.

use std::fmt;

use garland_testkit::Chance;

use crate::fault::{Fault, Kind};

/// The rate of every wire, in Mbit/s: two processors emulate all of them with most of their time
/// idle.
pub const RATE_MBIT: u64 = 100;

/// The shape of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    Chain,
    Tree,
    Stripe,
    Gather,
    /// A chain whose nodes are on two switches in turns, with a trunk between them.
    Trunk,
}

impl Shape {
    const ALL: [Self; 8] = [
        Self::Chain,
        Self::Chain,
        Self::Chain,
        Self::Tree,
        Self::Tree,
        Self::Stripe,
        Self::Gather,
        Self::Trunk,
    ];

    /// Returns the kinds of faults that this copy can suffer from, the frequent ones several times.
    fn kinds(self, chance: &mut Chance) -> Kind {
        let mut kinds = vec![
            Kind::SlowOut,
            Kind::SlowOut,
            Kind::SlowIn,
            Kind::SlowIn,
            Kind::Loss(2 + chance.below(5)),
            Kind::Pause(800 + chance.below(1600)),
            Kind::CompeteIn,
            Kind::CompeteOut,
        ];
        match self {
            Self::Chain | Self::Tree | Self::Trunk => kinds.extend([
                Kind::SlowDisk,
                Kind::SlowDisk,
                Kind::Starved,
                Kind::Starved,
                Kind::Dead,
                Kind::Dead,
            ]),
            Self::Stripe => kinds.extend([Kind::SlowDisk, Kind::Starved]),
            Self::Gather => kinds.push(Kind::Starved),
        }
        chance.pick(&kinds)
    }
}

/// A run: a copy, and what is wrong in it.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub number: u64,
    pub shape: Shape,
    /// The number of nodes, without the head.
    pub nodes: u32,
    pub mib: u64,
    pub faults: Vec<Fault>,
}

impl Case {
    /// The run `number` of `seed`.
    pub fn draw(seed: u64, number: u64) -> Self {
        let mut chance = Chance::new(seed, number);
        let shape = chance.pick(&Shape::ALL);
        let nodes = 3 + chance.below(3) as u32;
        let pairs = u64::from(chance.below(4) == 0);
        let mut case =
            Self { seed, number, shape, nodes, mib: 24 + chance.below(17), faults: vec![] };
        for _ in 0..=pairs {
            let kind = match shape {
                Shape::Trunk if case.faults.is_empty() => Kind::SlowTrunk,
                _ => shape.kinds(&mut chance),
            };
            let node = chance.pick(&case.places(kind));
            let fault =
                Fault { kind, node, share: 15 + chance.below(41), at_ms: 600 + chance.below(900) };
            if case.faults.iter().all(|other| other.node != node) {
                case.faults.push(fault);
            }
        }
        case
    }

    /// Returns this copy with these of its faults only.
    pub fn with(&self, faults: &[Fault]) -> Self {
        Self { faults: faults.to_vec(), ..self.clone() }
    }

    /// Returns the nodes at which a fault of this kind can have an effect; 0 is the head.
    fn places(&self, kind: Kind) -> Vec<u32> {
        let all = 1..=self.nodes;
        let forwards = match self.shape {
            // The first two nodes of a tree are fed by the head, and feed the others.
            Shape::Tree => (0..=self.nodes.saturating_sub(2).min(2)).collect(),
            Shape::Chain | Shape::Trunk => (0..self.nodes).collect(),
            Shape::Stripe => vec![0],
            Shape::Gather => all.clone().collect(),
        };
        match (kind, self.shape) {
            (Kind::SlowTrunk, _) => vec![u32::MAX],
            (Kind::SlowOut | Kind::CompeteOut, _) => forwards,
            (Kind::SlowIn | Kind::CompeteIn | Kind::Loss(_), Shape::Gather) => vec![0],
            (Kind::Starved, _) => (0..=self.nodes).collect(),
            _ => all.collect(),
        }
    }

    /// Returns the rate that the copy needs at a NIC of this node, in Mbit/s.
    pub fn needs_mbit(&self, node: u32) -> u64 {
        match self.shape {
            Shape::Chain | Shape::Trunk => RATE_MBIT,
            // A node of a tree that feeds two others sends its bytes twice.
            Shape::Tree if node == 0 => RATE_MBIT,
            Shape::Tree => RATE_MBIT / 2,
            Shape::Stripe | Shape::Gather if node == 0 => RATE_MBIT,
            Shape::Stripe | Shape::Gather => RATE_MBIT / u64::from(self.nodes),
        }
    }

    /// Whether a hop crosses the trunk.
    pub fn crosses(&self, from: u32, to: u32) -> bool {
        let is_far = |node: u32| node >= self.first_far();
        self.shape == Shape::Trunk && is_far(from) != is_far(to)
    }

    /// Returns the first node on the second switch of a copy over a trunk; the head is on the first
    /// one, and the node that other traffic comes from and goes to on the second.
    fn first_far(&self) -> u32 {
        (self.nodes + 2).div_ceil(2)
    }

    /// Returns the length of the source in bytes; of a gather, that of each node's file.
    pub fn length(&self) -> u64 {
        match self.shape {
            Shape::Tree => (self.mib << 20) / 2,
            Shape::Gather => (self.mib << 20) / u64::from(self.nodes),
            _ => self.mib << 20,
        }
    }

    /// Returns the seconds that the copy's bytes need on healthy wires.
    pub fn least_s(&self) -> f64 {
        (self.mib << 20) as f64 / (RATE_MBIT as f64 * 1e6 / 8.0 * 1448.0 / 1538.0)
    }

    /// Returns the words of the command, and of the destination or source on the nodes.
    pub fn words(&self) -> Vec<String> {
        let order: Vec<String> = match self.shape {
            Shape::Trunk => {
                let near = 1..self.first_far();
                let far = self.first_far()..=self.nodes;
                let [near, far] = [near.collect::<Vec<_>>(), far.collect()];
                let turns =
                    (0..near.len().max(far.len())).flat_map(|at| [far.get(at), near.get(at)]);
                let turns = turns.flatten();
                turns.map(|node| format!("lab:n{node}")).collect()
            }
            _ => vec![format!("lab:n[1-{}]", self.nodes)],
        };
        let there = format!("{}:/d/x", order.join(","));
        let words: &[&str] = match self.shape {
            Shape::Chain | Shape::Trunk => &["--order", "list", "--shape", "chain", "x", &there],
            Shape::Tree => &["--order", "list", "--shape", "tree:2", "x", &there],
            Shape::Stripe => &["--stripe", "x", &there],
            Shape::Gather => &[&there, "all"],
        };
        ["cp", "--json"].iter().chain(words).map(|&word| word.to_owned()).collect()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, shape, nodes, mib, .. } = self;
        write!(f, "{number}: {shape:?} of {nodes}, {mib} MiB")?;
        self.faults.iter().try_for_each(|fault| write!(f, "; {fault}"))
    }
}

#[test]
fn a_seed_gives_the_same_cases_of_all_kinds() {
    let mut kinds = std::collections::BTreeSet::new();
    for number in 1..400 {
        let [case, again] = [0, 1].map(|_| Case::draw(7, number));
        assert_eq!(case.to_string(), again.to_string());
        assert!(!case.faults.is_empty() && case.faults.len() <= 2, "{case}");
        if case.shape == Shape::Trunk {
            let words = case.words().join(" ");
            assert!((1..=case.nodes).all(|node| words.contains(&format!("n{node}"))), "{words}");
        }
        kinds.extend(case.faults.iter().map(|fault| fault.kind.name()));
    }
    assert_eq!(kinds.len(), 10, "{kinds:?}");
}
