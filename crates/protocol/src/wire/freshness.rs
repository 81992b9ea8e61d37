//! Tells new greetings with a key from repetitions of recorded ones, before any key exchange.
//!
//! A greeting says by which clock it was made when. The clock is that of a machine since its boot:
//! it never goes back and nobody sets it, so heads whose wall clocks differ by hours do not matter,
//! and each machine is judged by its own clock only. A clock is known here once a peer with it has
//! proved that it has the key, which no repetition can. Of each known clock the greatest times are
//! kept: a greeting with a greater one than these is new, one that is among them is a repetition.
//!
//! All others may be either: those of a machine that was not here before, or has been forgotten,
//! and those that overtook each other on the way. They are served, too, but at the cost of an
//! allowance which peers that prove their key give back, and repetitions don't. When it is used up
//! the peer is to come again.

use std::collections::{BTreeSet, VecDeque};

use crate::wire::agreement::{GreetingStamp, Mac};

/// The maximum number of known clocks of one key.
const CLOCKS_MAX: usize = 8;

/// The maximum number of greetings that are kept of a known clock.
const GREETINGS_MAX: usize = 64;

/// The maximum number of doubtful greetings that are kept.
const DOUBTED_MAX: usize = 1024;

/// How many doubtful greetings may wait for their proof at the same time.
const ALLOWANCE: u64 = 128;

/// The time after which a doubtful greeting is allowed again in place of one without a proof.
const ALLOWED_AGAIN_NS: u64 = 50_000_000;

/// What a greeting with a valid MAC is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It is new.
    New,
    /// It may be a repetition, and is allowed.
    Doubtful,
    /// It may be a repetition, and too many of these have proved nothing.
    Crowded,
    /// It is a repetition.
    Repeated,
}

/// The greetings with one key.
#[derive(Default)]
pub struct Greetings {
    /// The known clocks; the one whose peer was the last to prove its key is the first.
    clocks: VecDeque<Clock>,
    doubted: Recent,
    /// The time at which all of the allowance is there again.
    whole_ns: u64,
}

/// A clock of a peer that has proved its key.
struct Clock {
    id: [u8; 8],
    /// Greetings up to this time may be repetitions.
    floor_ns: u64,
    /// The greatest times after that, and the MACs of their greetings.
    greetings: BTreeSet<(u64, Mac)>,
}

impl Greetings {
    /// Judges a greeting whose MAC is valid, and which arrives at `now_ns`.
    pub fn judge(&mut self, stamp: &GreetingStamp, mac: &Mac, now_ns: u64) -> Freshness {
        let known = self.clocks.iter_mut().find(|clock| clock.id == stamp.clock);
        if let Some(clock) = known.filter(|clock| clock.floor_ns < stamp.time_ns) {
            return clock.judge(stamp.time_ns, mac);
        }
        if self.doubted.contains(mac) {
            return Freshness::Repeated;
        }
        let whole_ns = self.whole_ns.max(now_ns) + ALLOWED_AGAIN_NS;
        if whole_ns - now_ns > ALLOWANCE * ALLOWED_AGAIN_NS {
            return Freshness::Crowded;
        }
        self.whole_ns = whole_ns;
        let _ = self.doubted.insert(*mac, DOUBTED_MAX);
        Freshness::Doubtful
    }

    /// Notes that the peer whose greeting was judged as `freshness` has proved that it has the key.
    pub fn prove(&mut self, stamp: &GreetingStamp, freshness: Freshness) {
        if freshness == Freshness::Doubtful {
            self.whole_ns = self.whole_ns.saturating_sub(ALLOWED_AGAIN_NS);
        }
        let at = self.clocks.iter().position(|clock| clock.id == stamp.clock);
        let clock = at.and_then(|at| self.clocks.remove(at)).unwrap_or_else(|| Clock {
            id: stamp.clock,
            floor_ns: stamp.time_ns,
            greetings: BTreeSet::new(),
        });
        self.clocks.truncate(CLOCKS_MAX - 1);
        self.clocks.push_front(clock);
    }
}

impl Clock {
    /// Judges a greeting after the floor.
    fn judge(&mut self, time_ns: u64, mac: &Mac) -> Freshness {
        if !self.greetings.insert((time_ns, *mac)) {
            return Freshness::Repeated;
        }
        if self.greetings.len() > GREETINGS_MAX
            && let Some((oldest_ns, _)) = self.greetings.pop_first()
        {
            self.floor_ns = oldest_ns;
        }
        Freshness::New
    }
}

/// The MACs of the last greetings of a kind.
#[derive(Default)]
pub struct Recent {
    /// The oldest first.
    order: VecDeque<Mac>,
    known: BTreeSet<Mac>,
}

impl Recent {
    fn contains(&self, mac: &Mac) -> bool {
        self.known.contains(mac)
    }

    /// Keeps `mac`, and the last `maximum` ones. Returns whether it is new.
    pub fn insert(&mut self, mac: Mac, maximum: usize) -> bool {
        if !self.known.insert(mac) {
            return false;
        }
        self.order.push_back(mac);
        if self.order.len() > maximum
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests;
