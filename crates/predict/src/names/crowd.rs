//! The nodes that come, the racks in which they are, and when some of them leave.

use garland_core::splitmix::SplitMix;
use garland_topology::Topology;

/// One in so many nodes leaves before it has the content.
const LEAVING: usize = 20;

/// The nodes that want the content, on a leaf-spine network.
#[derive(Clone, Debug)]
pub struct Crowd {
    pieces: u32,
    /// The seconds that a wire needs for a piece.
    tick: f64,
    /// What the uplinks of each rack carry in each direction, in wires of a node.
    uplinks: Vec<f64>,
    /// The rack of the origin.
    origin: usize,
    /// The nodes that come at the beginning, in this order.
    first: Vec<Comer>,
    random: SplitMix,
}

/// A node that wants the content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comer {
    /// When it comes, in ticks.
    pub(super) at: f64,
    pub(super) rack: usize,
    /// The number of pieces with which it leaves; `None` if it stays.
    pub(super) leaves: Option<u32>,
}

impl Crowd {
    /// Creates the nodes of `topology`, a leaf-spine network whose first node is the origin. They come in random order
    /// by a Poisson process, all within about one download of `pieces` pieces of `tick` seconds.
    ///
    /// # Panics
    /// When the topology has no switches with nodes or no rates.
    #[must_use]
    pub fn new(topology: &Topology, pieces: u32, tick: f64, seed: u64) -> Self {
        let racks: Vec<usize> = topology.nics.iter().map(|nic| nic.medium).collect();
        let last = racks.iter().max().map_or(0, |rack| rack + 1);
        let rate = |of: Option<garland_core::units::Rate>| {
            of.map_or(f64::INFINITY, |rate| rate.bytes_per_second())
        };
        let wire = rate(topology.media[racks[0]].rate);
        let mut uplinks = vec![0.0; last];
        for uplink in topology.uplinks.iter().filter(|uplink| uplink.from < last) {
            uplinks[uplink.from] += uplink.rate.map_or(1.0, |it| it.bytes_per_second() / wire);
        }
        let random = SplitMix(seed);
        let mut crowd = Self { pieces, tick, uplinks, origin: racks[0], first: Vec::new(), random };
        let mut racks = racks[1..].to_vec();
        for at in (1..racks.len()).rev() {
            racks.swap(at, crowd.random.below(at + 1));
        }
        let mean = f64::from(pieces) / racks.len() as f64;
        let mut now = 0.0;
        for rack in racks {
            now -= mean * (1.0 - chance(&mut crowd.random)).ln();
            let leaves = leaves(&mut crowd.random, pieces);
            crowd.first.push(Comer { at: now, rack, leaves });
        }
        crowd
    }

    pub(super) fn pieces(&self) -> u32 {
        self.pieces
    }

    pub(super) fn tick(&self) -> f64 {
        self.tick
    }

    pub(super) fn uplinks(&self) -> &[f64] {
        &self.uplinks
    }

    pub(super) fn origin(&self) -> usize {
        self.origin
    }

    pub(super) fn first(&self) -> &[Comer] {
        &self.first
    }

    /// Returns a source of random numbers for what happens after the nodes have come.
    pub(super) fn random(&self) -> SplitMix {
        self.random
    }

    /// Returns the node that comes in place of `one`, which leaves at `at`.
    pub(super) fn in_place_of(&self, one: Comer, at: f64, random: &mut SplitMix) -> Comer {
        Comer { at, leaves: leaves(random, self.pieces), ..one }
    }
}

/// Returns the number of pieces with which a node leaves.
fn leaves(random: &mut SplitMix, pieces: u32) -> Option<u32> {
    let piece = random.below(pieces as usize) as u32;
    (random.below(LEAVING) == 0).then_some(piece)
}

/// Returns a number from 0 to below 1.
fn chance(random: &mut SplitMix) -> f64 {
    random.below(1 << 31) as f64 / (1_u64 << 31) as f64
}

#[cfg(test)]
impl Crowd {
    /// Creates nodes that come as listed; the origin is in rack 0. A tick is a second.
    pub(super) fn listed(pieces: u32, uplinks: &[f64], first: &[Comer]) -> Self {
        let (uplinks, first) = (uplinks.to_vec(), first.to_vec());
        Self { pieces, tick: 1.0, uplinks, origin: 0, first, random: SplitMix(1) }
    }
}
