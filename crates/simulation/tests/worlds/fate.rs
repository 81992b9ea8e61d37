//! What befalls the processes of a copy, drawn from a seed.

use std::fmt;
use std::time::Duration;

use garland_sys::clock;
use garland_sys::threads::sleep;
use garland_sys::world::Random;

use crate::room::Cast;

/// Something that happens to processes. Of two processes, the head is 0, and node n is n + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// A node's agent is killed.
    Kill(usize),
    /// A node's machine loses its power.
    PowerOff(usize),
    /// A node's agent stands still.
    Pause(usize, Duration),
    /// The machine of a process is suspended: its monotonic clock stands still, too.
    Suspend(usize, Duration),
    /// The wall clock of a process is set, by this number of seconds.
    SetClock(usize, i64),
    /// Nothing passes between two processes.
    Cut(usize, usize, Duration),
    /// Nothing passes from the first process to the second one; the other direction works.
    Deafen(usize, usize, Duration),
    /// The connections between two processes break; others can be opened.
    Break(usize, usize),
    /// A bit changes of what the first process sends to the second one, after so many bytes.
    Flip(usize, usize, u64),
    /// The head stands still.
    PauseHead(Duration),
    /// The head is killed.
    KillHead,
    /// Calls of a node's disk fail.
    Disk(usize),
}

/// Blows, each with the time since the beginning of the copy, in order.
pub type Fate = Vec<(Duration, Blow)>;

/// The longest pause or cut that must cost no node its copy.
const SHORT: Duration = Duration::from_millis(4_500);

/// How long agents wait for a head that dials a broken connection again.
const PATIENCE: Duration = garland_transport::limits::RESUME;

/// A cut that never ends.
pub const FOREVER: Duration = Duration::from_secs(100_000);

impl Blow {
    /// Draws something that happens to one of `nodes` nodes.
    pub fn draw(nodes: usize, random: &mut Random) -> Self {
        let node = random.below(nodes as u64) as usize;
        let short = Duration::from_nanos(random.below(SHORT.as_nanos() as u64));
        let long = Duration::from_millis(5_500 + random.below(4_000));
        let other = (node + 1 + random.below(nodes as u64) as usize) % (nodes + 1);
        let other = if other == node + 1 { 0 } else { other };
        let (from, to) = if random.once_in(2) { (node + 1, other) } else { (other, node + 1) };
        match random.below(20) {
            0..=2 => Self::Kill(node),
            3 => Self::PowerOff(node),
            4..=5 => Self::Pause(node, short),
            6 => Self::Pause(node, long),
            7..=8 => Self::Cut(node + 1, other, short),
            9..=10 => Self::PauseHead(short),
            11 => Self::PauseHead(long),
            12..=13 => Self::Deafen(from, to, short),
            14 => Self::Suspend(to, short),
            15 => Self::SetClock(to, random.below(200_000_000) as i64 - 100_000_000),
            16..=17 => Self::Break(from, to),
            _ => Self::Flip(from, to, random.below(1_000_000)),
        }
    }

    fn strike(self, cast: &Cast) {
        let process = |at: usize| if at == 0 { cast.head } else { cast.nodes[at - 1] };
        match self {
            Self::Kill(node) => cast.nodes[node].kill(),
            Self::PowerOff(node) => cast.nodes[node].power_off(),
            Self::Pause(node, time) => cast.nodes[node].pause(time),
            Self::Suspend(at, time) => process(at).suspend(time),
            Self::SetClock(at, by_s) => process(at).set_wall_clock(by_s),
            Self::Cut(one, other, time) => process(one).cut(process(other), time),
            Self::Deafen(from, to, time) => process(from).cut_to(process(to), time),
            Self::Break(one, other) => process(one).break_connections(process(other)),
            Self::Flip(from, to, after) => process(from).flip_to(process(to), after),
            Self::PauseHead(time) => cast.head.pause(time),
            Self::KillHead => cast.head.kill(),
            // The test sets it before the copy.
            Self::Disk(_) => {}
        }
    }

    /// Returns whether a node may lose its copy by this.
    pub fn harms(self, node: usize) -> bool {
        match self {
            Self::Kill(it) | Self::PowerOff(it) | Self::Disk(it) => it == node,
            Self::Pause(it, time) => it == node && time > SHORT,
            Self::Suspend(at, time) => at == node + 1 && time > SHORT,
            Self::Cut(one, other, time) | Self::Deafen(one, other, time) => {
                (one == node + 1 || other == node + 1) && time > SHORT
            }
            Self::SetClock(..)
            | Self::Break(..)
            | Self::Flip(..)
            | Self::PauseHead(_)
            | Self::KillHead => false,
        }
    }

    /// Returns whether the control connection between the head and a node may break by this.
    fn breaks_control(self, node: usize) -> bool {
        match self {
            Self::Cut(one, other, _)
            | Self::Deafen(one, other, _)
            | Self::Break(one, other)
            | Self::Flip(one, other, _) => one.min(other) == 0 && one.max(other) == node + 1,
            Self::Suspend(at, _) => at == 0 || at == node + 1,
            _ => false,
        }
    }

    /// Returns whether the head stands still for longer than agents wait for it.
    fn stops_head(self) -> bool {
        matches!(self, Self::PauseHead(time) | Self::Suspend(0, time) if time > PATIENCE)
    }
}

/// Returns whether a node may lose its copy: by one blow, or because its connection to the head
/// breaks while the head stands still and dials no other one.
pub fn harms(fate: &Fate, node: usize) -> bool {
    let mut blows = fate.iter().map(|(_, blow)| *blow);
    let breaks = fate.iter().any(|(_, blow)| blow.breaks_control(node));
    blows.any(|blow| blow.harms(node) || breaks && blow.stops_head())
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |at: usize| if at == 0 { "the head".to_owned() } else { format!("n{at}") };
        let during = |time: Duration| match time {
            FOREVER => "from now on".to_owned(),
            time => format!("for {time:.1?}"),
        };
        match *self {
            Self::Kill(node) => write!(f, "the agent of n{} is killed", node + 1),
            Self::PowerOff(node) => write!(f, "n{} loses its power", node + 1),
            Self::Pause(node, time) => {
                write!(f, "the agent of n{} stands still {}", node + 1, during(time))
            }
            Self::Suspend(at, time) => write!(f, "{} is suspended {}", name(at), during(time)),
            Self::SetClock(at, by) => write!(f, "the wall clock of {} jumps by {by} s", name(at)),
            Self::Cut(one, other, time) => {
                write!(
                    f,
                    "nothing passes between {} and {} {}",
                    name(one),
                    name(other),
                    during(time)
                )
            }
            Self::Deafen(from, to, time) => {
                write!(f, "{} does not hear {} {}", name(to), name(from), during(time))
            }
            Self::Break(one, other) => {
                write!(f, "the connections between {} and {} break", name(one), name(other))
            }
            Self::Flip(from, to, after) => {
                let from = name(from);
                let to = name(to);
                write!(f, "a bit changes from {from} to {to}, {after} bytes later")
            }
            Self::PauseHead(time) => write!(f, "the head stands still {}", during(time)),
            Self::KillHead => write!(f, "the head is killed"),
            Self::Disk(node) => write!(f, "calls of the disk of n{} fail", node + 1),
        }
    }
}

/// Draws up to three blows within `within` of the beginning of the copy.
pub fn draw(nodes: usize, within: Duration, random: &mut Random) -> Fate {
    let blows = 1 + random.below(3);
    let part_ns = (within.as_nanos() as u64 / blows).max(1);
    let mut at_ns = 0;
    let mut blow = |_| {
        at_ns += random.below(part_ns);
        (Duration::from_nanos(at_ns), Blow::draw(nodes, random))
    };
    (0..blows).map(&mut blow).collect()
}

/// Lets everything happen to the processes.
pub fn strike(fate: &Fate, cast: &Cast) {
    let began_ns = clock::now_ns();
    for (at, blow) in fate {
        let passed = Duration::from_nanos(clock::now_ns() - began_ns);
        sleep(at.saturating_sub(passed));
        blow.strike(cast);
    }
}
