//! Cases: a small copy, its world and its mishaps, all derived from one seed.

use std::collections::BTreeSet;

use garland_core::plan::{Layout, Plan};
use garland_simulation::SinkKind::{File, Null, Stream, Tree};
use garland_simulation::{Mishap, Random, Schedule, What, World};

use crate::judge::judge;

const MILLISECOND: u64 = 1_000_000;

/// A copy and its mishaps.
#[derive(Clone, Debug)]
pub struct Case {
    pub receivers: u32,
    pub lanes: u16,
    /// The number of nodes that each node feeds; 1 in a chain.
    pub fanout: usize,
    /// Whether the source is shared: nodes read parts of it themselves.
    pub shared: bool,
    /// Whether the lane is two trees.
    pub twins: bool,
    pub length: u64,
    pub world: World,
    pub schedule: Schedule,
}

impl Case {
    /// Returns a copy in a random world, without mishaps.
    fn quiet(random: &mut Random, seed: u64) -> Self {
        let receivers = 1 + u32::try_from(random.below(9)).unwrap();
        let rate = 1_000_000 << random.below(4);
        let mut world = World::uniform(receivers as usize, rate);
        world.slice = 256 << random.below(5);
        world.window = 1 + random.below(4) as usize;
        world.control_jitter_ns = [0, 5, 100][random.below(3) as usize] * MILLISECOND;
        world.limit_ns = 120_000 * MILLISECOND;
        let lanes = 1 + u16::try_from(random.below(3)).unwrap();
        for node in &mut world.nodes {
            // Most disks are much faster than the wire, some hardly.
            node.disk_rate = if random.once_in(3) { rate * 11 / 10 } else { rate * 100 };
            // Trees that are compared use one lane.
            let tree = if lanes == 1 { Tree } else { File };
            node.sink = [Null, Stream, tree, tree, File][random.below(12).min(4) as usize];
            // Some nodes have a part of the file already, or all of it.
            node.has = [0, 0, 0, 500, 970, 1000][random.below(6) as usize];
        }
        if lanes > 1 && world.nodes.iter().any(|node| node.sink.is_ordered()) {
            // Pipes are not compared; either all nodes or none have pipes.
            world.nodes.iter_mut().for_each(|node| (node.sink, node.has) = (Stream, 0));
        }
        world.stream = random.once_in(3);
        let length = random.below(60 * 4096);
        // A lane keeps a slot while it waits for its downstream, so there are more slots than
        // lanes.
        world.room = usize::from(lanes) + 1 + random.below(8) as usize;
        let schedule = Schedule { seed, checked: true, mishaps: Vec::new() };
        let fanout = if random.once_in(2) { 1 } else { 2 + random.below(3) as usize };
        let shared = false;
        let twins = false;
        let case = Self { receivers, lanes, fanout, shared, twins, length, world, schedule };
        // The cases of other seeds stay as they are.
        match Random::new(!seed).below(6) {
            0 => case.shared(),
            1 => case.twinned(),
            _ => case,
        }
    }

    /// Makes two trees of the lane, if there is one, and no destination needs blocks in order.
    fn twinned(self) -> Self {
        let is_fit = self.lanes == 1 && self.world.nodes.iter().all(|node| !node.sink.is_ordered());
        let room = self.world.room + 2;
        match is_fit {
            true => Self { twins: true, fanout: 2, world: World { room, ..self.world }, ..self },
            false => self,
        }
    }

    /// Makes the nodes read the source themselves; their sinks are files.
    fn shared(mut self) -> Self {
        self.world.nodes.iter_mut().for_each(|node| node.sink = File);
        self.world.stream = false;
        self.world.room += 4;
        Self { shared: true, fanout: 1, lanes: self.lanes + 4, ..self }
    }

    pub fn plan(&self) -> Plan {
        let names: Vec<String> = (1..=self.receivers).map(|n| format!("n{n}")).collect();
        let layout = Layout::new(self.length, 4096).unwrap();
        if self.shared {
            return Plan::shared(layout, &names, self.lanes, 1).unwrap();
        }
        let plan = Plan::broadcast(layout, &names, self.lanes).unwrap();
        if self.twins { plan.twinned().unwrap() } else { plan.branching(self.fanout) }
    }

    /// Returns the approximate duration of the undisturbed copy.
    fn span(&self) -> u64 {
        let fanout = self.fanout as u64;
        self.length * 1_000_000_000 / self.world.link_rate / u64::from(self.lanes) * fanout
            + 3 * MILLISECOND
    }

    fn moment(&self, random: &mut Random) -> u64 {
        random.below(self.span() * 5 / 4)
    }

    fn add(&mut self, at: u64, what: What) {
        self.schedule.mishaps.push(Mishap { at, what });
    }

    fn node(&self, random: &mut Random) -> u32 {
        match random.below(4) {
            0 => 1,
            1 => self.receivers,
            _ => 1 + u32::try_from(random.below(u64::from(self.receivers))).unwrap(),
        }
    }

    fn death(&mut self, random: &mut Random, at: u64, node: u32) {
        let what = match random.below(3) {
            0 => What::Crash(node),
            1 => What::Cut(node),
            _ => What::Stop(node),
        };
        self.add(at, what);
    }

    /// Some nodes die, together or one after the other.
    pub fn deaths(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut case = Self::quiet(&mut random, seed);
        let mut at = case.moment(&mut random);
        for _ in 0..1 + random.below(4) {
            let node = case.node(&mut random);
            case.death(&mut random, at, node);
            if random.once_in(2) {
                at = case.moment(&mut random) + random.below(2) * random.below(3000) * MILLISECOND;
            }
        }
        case
    }

    /// All nodes but one die within a short time.
    pub fn all_but_one(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut case = Self::quiet(&mut random, seed);
        let spared = case.node(&mut random);
        let start = case.moment(&mut random);
        let spread = random.below(2) * case.span();
        for node in (1..=case.receivers).filter(|&node| node != spared) {
            let at = start + random.below(spread + 1);
            case.death(&mut random, at, node);
        }
        case
    }

    /// No node dies: nodes stall, links break, disks are slow, bytes change.
    pub fn stalls(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut case = Self::quiet(&mut random, seed);
        case.annoy(&mut random);
        case
    }

    /// Some disks stop answering at some time, possibly before the copy begins.
    pub fn hangs(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut case = Self::quiet(&mut random, seed);
        // A hang on a stream may only be noticed after another node, for which all waited, has
        // failed.
        case.world.limit_ns *= 2;
        for _ in 0..1 + random.below(2) {
            let at = case.moment(&mut random);
            let node = case.node(&mut random);
            let at = if random.once_in(4) { 0 } else { at };
            case.add(at, What::Hang(node));
        }
        if random.once_in(2) {
            case.annoy(&mut random);
        }
        case
    }

    /// All kinds of mishaps.
    pub fn everything(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut case = Self::quiet(&mut random, seed);
        case.annoy(&mut random);
        for _ in 0..1 + random.below(3) {
            let node = case.node(&mut random);
            let at = case.moment(&mut random) + random.below(2) * random.below(2000) * MILLISECOND;
            case.death(&mut random, at, node);
        }
        case
    }

    /// No node dies; the head hears the messages of some again, late and out of order.
    pub fn repeats(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut case = Self::quiet(&mut random, seed);
        case.annoy(&mut random);
        for _ in 0..1 + random.below(3) {
            let node = case.node(&mut random);
            case.add(0, What::Repeat(node));
        }
        case
    }

    /// No node dies, but some cannot be reached at first and join at some time.
    pub fn late(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut case = Self::quiet(&mut random, seed);
        // Nobody can join a stream, which cannot be read again.
        case.world.stream = false;
        case.annoy(&mut random);
        let nodes: BTreeSet<u32> =
            (0..1 + random.below(3)).map(|_| case.node(&mut random)).collect();
        for node in nodes {
            let at = case.moment(&mut random);
            case.add(at, What::Late(node));
        }
        case
    }

    fn annoy(&mut self, random: &mut Random) {
        let plan = self.plan();
        let blocks = plan.layout.blocks();
        let lanes = plan.lanes.len() as u64;
        for _ in 0..random.below(6) {
            let at = self.moment(random);
            let node = self.node(random);
            let lane = u16::try_from(random.below(lanes)).unwrap();
            match random.below(4) {
                // Shorter than the silence after which a node is considered dead.
                0 => self.add(at, What::Pause(node, random.below(900) * MILLISECOND)),
                1 => self.add(at, What::Break(lane, node)),
                2 => self.add(at, What::Flip { index: random.below(blocks), to: node }),
                _ => {
                    let node = &mut self.world.nodes[node as usize - 1];
                    node.disk_rate = self.world.link_rate / (1 + random.below(8));
                }
            }
        }
    }

    /// Returns the smallest case that still fails, and its failure.
    pub fn shrink(mut self, mut why: String) -> (Self, String) {
        loop {
            let smaller = self.smaller().into_iter();
            let Some((case, reason)) =
                smaller.filter_map(|case| judge(&case).err().map(|why| (case, why))).next()
            else {
                return (self, why);
            };
            (self, why) = (case, reason);
        }
    }

    fn smaller(&self) -> Vec<Self> {
        let mut cases = Vec::new();
        for at in 0..self.schedule.mishaps.len() {
            let mut case = self.clone();
            case.schedule.mishaps.remove(at);
            cases.push(case);
        }
        if self.length > 4096 {
            cases.push(Self { length: self.length / 2, ..self.clone() });
            cases.push(Self { length: self.length - 4096, ..self.clone() });
        }
        let last = self.receivers;
        let named = self.schedule.mishaps.iter().any(|mishap| names(&mishap.what) == Some(last));
        if last > 1 && !named {
            let mut case = self.clone();
            case.receivers -= 1;
            case.world.nodes.pop();
            cases.push(case);
        }
        if self.lanes > 1
            && !self.schedule.mishaps.iter().any(|m| matches!(m.what, What::Break(..)))
        {
            cases.push(Self { lanes: 1, ..self.clone() });
        }
        if self.fanout > 1 {
            cases.push(Self { fanout: 1, twins: false, ..self.clone() });
        }
        if self.world.stream {
            let world = World { stream: false, ..self.world.clone() };
            cases.push(Self { world, ..self.clone() });
        }
        if self.world.control_jitter_ns > 0 {
            let world = World { control_jitter_ns: 0, ..self.world.clone() };
            cases.push(Self { world, ..self.clone() });
        }
        for at in 0..self.world.nodes.len() {
            let fast = self.world.link_rate * 100;
            let node = self.world.nodes[at];
            if node.disk_rate != fast || node.sink != File || node.has != 0 {
                let mut case = self.clone();
                case.world.nodes[at].disk_rate = fast;
                case.world.nodes[at].has = 0;
                case.world.nodes[at].sink = File;
                cases.push(case);
            }
        }
        cases
    }
}

fn names(what: &What) -> Option<u32> {
    match *what {
        What::Crash(node) | What::Cut(node) | What::Stop(node) | What::Hang(node) => Some(node),
        What::Late(node) | What::Repeat(node) => Some(node),
        What::Pause(node, _) | What::Break(_, node) | What::Flip { to: node, .. } => Some(node),
        What::Interrupt => None,
    }
}
