//! What the delay lines have done, in memory that the keeper shares with commands.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_core::units::Nanos;
use garland_sys::segment::Segment;
use garland_topology::{MediumId, Topology};
use serde::Serialize;

use super::directions;

/// The counters of one direction: words in the segment.
pub(super) struct LineCounters<'a> {
    words: &'a [AtomicU64],
}

/// The number of words of one direction.
const WORDS: usize = 4;
const RELEASED: usize = 0;
const LATE: usize = 1;
const LOST: usize = 2;
const WORST: usize = 3;

/// Creates the counters of `count` directions.
pub(super) fn shared(count: usize) -> io::Result<Segment> {
    Segment::new(count * WORDS)
}

impl<'a> LineCounters<'a> {
    /// Returns the counters of the direction with index `line`.
    pub(super) fn new(segment: &'a Segment, line: usize) -> Self {
        Self { words: &segment.words()[line * WORDS..][..WORDS] }
    }

    /// Counts a frame that was released `late_ns` nanoseconds after it was due.
    pub(super) fn release(&self, late_ns: u64, accepted_ns: u64) {
        self.add(RELEASED, 1);
        if late_ns > accepted_ns {
            self.add(LATE, 1);
        }
        // Nothing else writes this word.
        if late_ns > self.words[WORST].load(Ordering::Relaxed) {
            self.words[WORST].store(late_ns, Ordering::Relaxed);
        }
    }

    /// Counts frames that were lost.
    pub(super) fn lose(&self, frames: u64) {
        self.add(LOST, frames);
    }

    fn add(&self, word: usize, more: u64) {
        self.words[word].fetch_add(more, Ordering::Relaxed);
    }
}

/// What the lab's own delay line has done since the lab is up, or in a part of that time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DelayCounters {
    /// The frames that were released.
    pub released: u64,
    /// Those of them that were released late: by more than 5 % of the delay and by more than a
    /// millisecond.
    pub late: u64,
    /// The frames that were lost since the line had no room for them, or could not send them on.
    pub lost: u64,
    /// The longest time by which a frame was late since the lab is up.
    pub worst: Nanos,
}

/// The share of late frames above which a measurement is void.
const MAX_LATE_SHARE: f64 = 0.01;

impl DelayCounters {
    /// Returns what has been done since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            released: self.released.saturating_sub(before.released),
            late: self.late.saturating_sub(before.late),
            lost: self.lost.saturating_sub(before.lost),
            worst: self.worst,
        }
    }

    /// Returns the share of released frames that were late, 0 to 1.
    #[must_use]
    pub fn late_share(&self) -> f64 {
        self.late as f64 / self.released.max(1) as f64
    }

    /// Returns why a measurement in this time says nothing about the delay of the topology; `None`
    /// if it does.
    #[must_use]
    pub fn void(&self) -> Option<String> {
        let Self { released, late, lost, worst } = self;
        if *lost > 0 {
            return Some(format!(
                "void: the delay line of this lab lost {lost} frames beside {released}, which the \
                 wires did not; use lower rates or fewer nodes, or leave this machine more idle time"
            ));
        }
        (self.late_share() > MAX_LATE_SHARE).then(|| {
            format!(
                "void: the delay line of this lab released {late} of {released} frames late, the \
                 worst by {worst}, so its delay is not the topology's; use lower rates or fewer \
                 nodes, or leave this machine more idle time"
            )
        })
    }

    /// Returns the counters of both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            released: self.released + other.released,
            late: self.late + other.late,
            lost: self.lost + other.lost,
            worst: self.worst.max(other.worst),
        }
    }
}

/// Returns the counters of each medium of `topology`.
pub(crate) fn by_medium(topology: &Topology, segment: &Segment) -> Vec<DelayCounters> {
    let mut all = vec![DelayCounters::default(); topology.media.len()];
    let media = held_media(topology);
    for (medium, words) in media.into_iter().zip(segment.words().chunks(WORDS)) {
        let read = |word: usize| words.get(word).map_or(0, |word| word.load(Ordering::Relaxed));
        let own = DelayCounters {
            released: read(RELEASED),
            late: read(LATE),
            lost: read(LOST),
            worst: Nanos(read(WORST)),
        };
        all[medium] = all[medium].and(own);
    }
    all
}

/// Returns the medium of each direction that is held, in the order of the directions.
fn held_media(topology: &Topology) -> Vec<MediumId> {
    let all = directions(topology);
    all.iter().filter_map(|direction| direction.held).map(|held| held.medium).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_was_late_and_by_how_much() {
        let segment = shared(2).unwrap();
        let second = LineCounters::new(&segment, 1);
        second.release(10, 100);
        second.release(250, 100);
        second.release(101, 100);
        second.lose(3);
        let read: Vec<u64> =
            segment.words().iter().map(|word| word.load(Ordering::Relaxed)).collect();
        assert_eq!(read, [0, 0, 0, 0, 3, 2, 3, 250]);
    }

    #[test]
    fn a_measurement_is_void_if_too_many_were_late_or_any_was_lost() {
        let counted = |released, late, lost| {
            let worst = Nanos::from_millis(3);
            DelayCounters { released, late, lost, worst }
        };
        assert_eq!(counted(0, 0, 0).void(), None);
        assert_eq!(counted(1000, 10, 0).void(), None);
        let late = counted(1000, 11, 0).void().unwrap();
        assert!(late.starts_with("void: the delay line of this lab released 11 of 1000 frames"));
        assert!(counted(1000, 0, 1).void().unwrap().contains("lost 1 frames"));
        let since = counted(3000, 11, 4).since(&counted(1000, 11, 4));
        assert_eq!((since, since.void()), (counted(2000, 0, 0), None));
    }
}
