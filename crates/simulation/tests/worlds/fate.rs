//! What befalls the processes of a copy, drawn from a seed.

use std::time::Duration;

use garland_sys::threads::sleep;
use garland_sys::world::Random;

use crate::room::Cast;

/// Something that happens to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// A node's agent is killed.
    Kill(usize),
    /// A node's machine loses its power.
    PowerOff(usize),
    /// A node's agent stands still.
    Pause(usize, Duration),
    /// Nothing passes between two processes: the head is 0, node n is n + 1.
    Cut(usize, usize, Duration),
    /// The head stands still.
    PauseHead(Duration),
    /// The head is killed.
    KillHead,
    /// Calls of a node's disk fail.
    Disk(usize),
}

/// Blows, each with the time since the one before.
pub type Fate = Vec<(Duration, Blow)>;

/// The longest pause or cut that must cost no node its copy.
const SHORT: Duration = Duration::from_millis(4_500);

impl Blow {
    /// Draws something that happens to one of `nodes` nodes.
    pub fn draw(nodes: usize, random: &mut Random) -> Self {
        let node = random.below(nodes as u64) as usize;
        let short = Duration::from_nanos(random.below(SHORT.as_nanos() as u64));
        let long = Duration::from_millis(5_500 + random.below(4_000));
        let other = (node + 1 + random.below(nodes as u64) as usize) % (nodes + 1);
        match random.below(12) {
            0..=2 => Self::Kill(node),
            3 => Self::PowerOff(node),
            4..=5 => Self::Pause(node, short),
            6 => Self::Pause(node, long),
            7..=8 => Self::Cut(node + 1, if other == node + 1 { 0 } else { other }, short),
            9..=10 => Self::PauseHead(short),
            _ => Self::PauseHead(long),
        }
    }

    fn strike(self, cast: &Cast) {
        let process = |at: usize| if at == 0 { cast.head } else { cast.nodes[at - 1] };
        match self {
            Self::Kill(node) => cast.nodes[node].kill(),
            Self::PowerOff(node) => cast.nodes[node].power_off(),
            // A pause would wake the dead.
            Self::Pause(node, time) if !cast.nodes[node].is_gone() => cast.nodes[node].pause(time),
            Self::Pause(..) => {}
            Self::Cut(one, other, time) => process(one).cut(process(other), time),
            Self::PauseHead(time) => cast.head.pause(time),
            Self::KillHead => cast.head.kill(),
            // The test sets it before the copy.
            Self::Disk(_) => {}
        }
    }

    /// Returns the node that may lose its copy by this.
    pub fn victim(self) -> Option<usize> {
        match self {
            Self::Kill(node) | Self::PowerOff(node) | Self::Disk(node) => Some(node),
            Self::Pause(node, time) => (time > SHORT).then_some(node),
            Self::Cut(..) | Self::PauseHead(_) | Self::KillHead => None,
        }
    }
}

/// Draws up to three blows within `within` of the beginning of the copy.
pub fn draw(nodes: usize, within: Duration, random: &mut Random) -> Fate {
    let blows = 1 + random.below(3);
    let part_ns = (within.as_nanos() as u64 / blows).max(1);
    let pause = |random: &mut Random| Duration::from_nanos(random.below(part_ns));
    (0..blows).map(|_| (pause(random), Blow::draw(nodes, random))).collect()
}

/// Lets everything happen to the processes.
pub fn strike(fate: &Fate, cast: &Cast) {
    for (pause, blow) in fate {
        sleep(*pause);
        blow.strike(cast);
    }
}
