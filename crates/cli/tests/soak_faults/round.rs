//! What a round does, drawn from the seed: an operation, and faults at random moments.

use std::fmt;

use garland_lab::fault::LinkDirection;
use garland_testkit::{Chance, HangsIn};

/// Nodes of the lab, besides the head.
pub const NODES: u32 = 8;

/// The longest silence that must cost nothing, in milliseconds. Garland gives nodes up after 5 s.
const SILENCE_MS: u64 = 4500;

/// What is done in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A copy of a file down a chain.
    Chain,
    /// A copy of a file down a tree of nodes.
    Tree,
    /// A copy of a directory.
    Directory,
    /// A file that is striped over the nodes.
    Stripe,
    /// A file of each node, gathered.
    Gather,
    /// Small jobs with files in and out.
    Farm,
    /// Files of the nodes, read under a mount.
    Mount,
    /// A copy of a file to standing agents.
    Standing,
}

impl Operation {
    pub const ALL: [Self; 8] = [
        Self::Chain,
        Self::Tree,
        Self::Directory,
        Self::Stripe,
        Self::Gather,
        Self::Farm,
        Self::Mount,
        Self::Standing,
    ];

    /// Whether the nodes' agents are started before and ended after it.
    pub fn is_served(self) -> bool {
        matches!(self, Self::Standing | Self::Mount)
    }

    /// About how long it takes in peace, in milliseconds. Moments are drawn from it, and not from
    /// what was measured, so that a seed gives the same round each time.
    fn usual_ms(self) -> u64 {
        match self {
            Self::Mount => 6000,
            Self::Directory | Self::Farm => 3000,
            _ => 2500,
        }
    }

    /// The kinds of faults that make sense, the frequent ones several times.
    fn kinds(self, chance: &mut Chance) -> Kind {
        let mut kinds = vec![
            Kind::Kill,
            Kind::Kill,
            Kind::Stop,
            Kind::Stop,
            Kind::Cut,
            Kind::Cut,
            Kind::Drop(LinkDirection::In),
            Kind::Drop(LinkDirection::Out),
            Kind::Loss(1 + chance.below(5)),
            Kind::KillHead,
            Kind::Interrupt,
        ];
        let call = [HangsIn::Create, HangsIn::Fsync, HangsIn::Rename];
        let written = HangsIn::Write(chance.below(40) << 20);
        let hanging = if chance.below(2) == 0 { written } else { chance.pick(&call) };
        match self {
            Self::Chain | Self::Tree | Self::Directory | Self::Standing => kinds.extend([
                Kind::SmallDisk,
                Kind::FillingDisk,
                Kind::SlowDisk(40 + chance.below(110)),
                Kind::HangingDisk(hanging),
            ]),
            Self::Stripe => kinds.push(Kind::FillingDisk),
            Self::Gather => kinds.push(Kind::HangingDisk(HangsIn::Read(chance.below(6) << 20))),
            Self::Farm | Self::Mount => {}
        }
        chance.pick(&kinds)
    }
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All processes of the node are killed.
    Kill,
    /// All processes of the node are stopped, and continued later.
    Stop,
    /// The node's wire is cut in both directions.
    Cut,
    /// All frames in one direction are dropped at the node's NIC.
    Drop(LinkDirection),
    /// So many percent of the frames to the node are lost, until the round ends.
    Loss(u64),
    /// The destination has too little room from the beginning.
    SmallDisk,
    /// Something else fills the destination's disk.
    FillingDisk,
    /// The destination's disk takes so many milliseconds for a mebibyte.
    SlowDisk(u64),
    /// A call to the node's disk never returns.
    HangingDisk(HangsIn),
    /// The head is killed, and the same command run again.
    KillHead,
    /// The user presses Ctrl-C.
    Interrupt,
}

impl Kind {
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "node killed",
            Self::Stop => "node stopped",
            Self::Cut => "link down",
            Self::Drop(_) => "one-way drop",
            Self::Loss(_) => "packet loss",
            Self::SmallDisk => "small disk",
            Self::FillingDisk => "filling disk",
            Self::SlowDisk(_) => "slow disk",
            Self::HangingDisk(_) => "hanging disk",
            Self::KillHead => "head killed",
            Self::Interrupt => "Ctrl-C",
        }
    }

    /// Whether it befalls the head, and no node.
    pub fn is_of_head(self) -> bool {
        matches!(self, Self::KillHead | Self::Interrupt)
    }

    /// Whether the node's disk has it from the beginning of the round.
    pub fn is_of_disk(self) -> bool {
        matches!(
            self,
            Self::SmallDisk | Self::FillingDisk | Self::SlowDisk(_) | Self::HangingDisk(_)
        )
    }

    /// Whether it may cost the node its copy.
    pub fn may_cost_the_copy(self) -> bool {
        matches!(self, Self::Kill | Self::SmallDisk | Self::FillingDisk | Self::HangingDisk(_))
    }

    /// Whether it makes the round slower for as long as that lasts.
    pub fn slows_down(self) -> bool {
        matches!(self, Self::Loss(_) | Self::SlowDisk(_))
    }

    fn is_silence(self) -> bool {
        matches!(self, Self::Stop | Self::Cut | Self::Drop(_))
    }
}

/// A fault with its node and its moment.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: Kind,
    /// The number of the node; 0 for the head.
    pub node: u32,
    /// Milliseconds from the start of the command.
    pub at_ms: u64,
    /// How long it lasts, in milliseconds, if it ends by itself.
    pub for_ms: Option<u64>,
}

/// A round: what is done, and what happens meanwhile.
#[derive(Clone, Debug)]
pub struct Round {
    pub seed: u64,
    pub number: u64,
    pub operation: Operation,
    pub faults: Vec<Fault>,
    /// Whether older contents are at the destination.
    pub over_old: bool,
    /// Whether everything is sent, also what nodes already have.
    pub whole: bool,
}

impl Round {
    /// The round `number` of `seed`, with one of `operations`.
    pub fn draw(seed: u64, number: u64, operations: &[Operation]) -> Self {
        let mut chance = Chance::new(seed, number);
        let operation = chance.pick(operations);
        let mut faults: Vec<Fault> = Vec::new();
        for _ in 0..=chance.below(3) {
            let kind = operation.kinds(&mut chance);
            let node =
                if kind.is_of_head() { 0 } else { 1 + chance.below(u64::from(NODES)) as u32 };
            let at_ms = chance.below(operation.usual_ms());
            let for_ms = kind.is_silence().then(|| 200 + chance.below(SILENCE_MS - 199));
            // Two silences of a node could follow each other, and be longer than the limit.
            if faults.iter().all(|fault| fault.node != node) {
                faults.push(Fault { kind, node, at_ms, for_ms });
            }
        }
        faults.sort_by_key(|fault| fault.at_ms);
        let over_old = chance.below(2) == 0;
        let whole = chance.below(2) == 0;
        Self { seed, number, operation, faults, over_old, whole }
    }

    /// A round without any fault.
    pub fn peaceful(operation: Operation) -> Self {
        Self { seed: 0, number: 0, operation, faults: Vec::new(), over_old: false, whole: true }
    }

    /// The disk's fault of a node.
    pub fn disk(&self, node: u32) -> Option<Kind> {
        let mut kinds = self.faults.iter().filter(|fault| fault.node == node).map(|it| it.kind);
        kinds.find(|kind| kind.is_of_disk())
    }

    /// Whether a disk hangs in it.
    pub fn hangs(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault.kind, Kind::HangingDisk(_)))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms: {}", self.at_ms, self.kind.name())?;
        match self.kind {
            Kind::Drop(direction) => write!(f, " ({direction:?})")?,
            Kind::Loss(percent) => write!(f, " ({percent} %)")?,
            Kind::SlowDisk(ms) => write!(f, " ({ms} ms a MiB)")?,
            Kind::HangingDisk(call) => write!(f, " ({call:?})")?,
            _ => {}
        }
        if self.node > 0 {
            write!(f, " of n{}", self.node)?;
        }
        self.for_ms.map_or(Ok(()), |ms| write!(f, " for {ms} ms"))
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {} of seed {}: {:?}", self.number, self.seed, self.operation)?;
        write!(f, "{}", if self.over_old { " over older contents" } else { "" })?;
        self.faults.iter().try_for_each(|fault| write!(f, "; {fault}"))
    }
}

#[test]
fn a_seed_gives_the_same_rounds_with_a_victim_for_each_fault() {
    let mut kinds = std::collections::BTreeSet::new();
    for number in 1..500 {
        let [round, again] = [0, 1].map(|_| Round::draw(7, number, &Operation::ALL));
        assert_eq!(round.to_string(), again.to_string());
        let victims: std::collections::BTreeSet<u32> =
            round.faults.iter().map(|fault| fault.node).collect();
        assert!(victims.len() == round.faults.len() && !victims.is_empty(), "{round}");
        kinds.extend(round.faults.iter().map(|fault| fault.kind.name()));
    }
    assert_eq!(kinds.len(), 11, "{kinds:?}");
}
