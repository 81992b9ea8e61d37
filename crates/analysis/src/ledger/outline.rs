//! A summary of a path in a few lines.

use std::collections::BTreeMap;

use super::cause::Cause;
use super::segment::{Place, Segment};

/// A part of the critical path, with its main cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The start of the part, in nanoseconds since the start of the command.
    pub begin: i64,
    /// The end of the part, in nanoseconds since the start of the command.
    pub end: i64,
    /// The cause of most of the part's time.
    pub cause: Cause,
    /// The node or hop of most of the part's time.
    pub place: Place,
    /// The fraction of the part's time with this cause and place, from 0 to 1.
    pub share: f64,
}

/// Nanoseconds by cause and place.
type Sums = BTreeMap<(Cause, Place), i64>;

/// The initial number of equal slots into which the path is divided; it is halved until the parts
/// are few enough.
const SLOTS: i64 = 96;

/// Returns the path as at most `lines` parts, at least one. Adjacent parts differ in their main
/// cause or place.
pub fn outline(path: &[Segment], lines: usize) -> Vec<Stretch> {
    let end = path.last().map_or(0, |last| last.end);
    let mut slots = SLOTS;
    loop {
        let stretches = in_slots(path, end, slots);
        if stretches.len() <= lines.max(1) || slots <= 1 {
            return stretches;
        }
        slots /= 2;
    }
}

fn in_slots(path: &[Segment], end: i64, slots: i64) -> Vec<Stretch> {
    let mut stretches: Vec<(Stretch, Sums)> = Vec::new();
    let mut rest = path;
    for slot in 0..slots {
        // In 128 bits, since a file can contain any numbers.
        let edge = |slot: i64| (i128::from(end) * i128::from(slot) / i128::from(slots)) as i64;
        let begin = edge(slot);
        let until = edge(slot + 1);
        let mut sums = Sums::new();
        for segment in rest.iter().take_while(|segment| segment.begin < until) {
            let inside = segment.end.min(until) - segment.begin.max(begin);
            *sums.entry((segment.cause, segment.place)).or_default() += inside.max(0);
        }
        rest = &rest[rest.partition_point(|segment| segment.end <= until)..];
        let Some((&(cause, place), _)) = sums.iter().max_by_key(|(_, ns)| **ns) else { continue };
        match stretches.last_mut() {
            Some((last, all)) if (last.cause, last.place) == (cause, place) => {
                last.end = until;
                sums.into_iter().for_each(|(key, ns)| *all.entry(key).or_default() += ns);
            }
            _ => stretches.push((Stretch { begin, end: until, cause, place, share: 0.0 }, sums)),
        }
    }
    let with_share = |(stretch, sums): (Stretch, Sums)| {
        let own = sums.get(&(stretch.cause, stretch.place)).copied().unwrap_or(0);
        let share = own as f64 / (stretch.end - stretch.begin).max(1) as f64;
        Stretch { share, ..stretch }
    };
    stretches.into_iter().map(with_share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_many_changes_has_few_lines() {
        let wire = Place::hop(0, 1);
        let disk = Place::node(1);
        let mut path = vec![Segment::new(0, 1000, Cause::SetUp, Place::default())];
        for at in (1000..9000).step_by(100) {
            path.push(Segment::new(at, at + 90, Cause::Wire, wire));
            path.push(Segment::new(at + 90, at + 100, Cause::Relay, disk));
        }
        path.push(Segment::new(9000, 10_000, Cause::Fsync, disk));
        let lines = outline(&path, 8);
        let causes: Vec<Cause> = lines.iter().map(|line| line.cause).collect();
        assert_eq!(causes, [Cause::SetUp, Cause::Wire, Cause::Fsync]);
        assert!((lines[1].share - 0.9).abs() < 0.03, "{lines:?}");
        assert_eq!(lines[2].end, 10_000);
        assert_eq!(outline(&path, 1).len(), 1);
        assert!(outline(&[], 4).is_empty());
    }
}
