//! Segments of the critical path.

use super::cause::Cause;

/// A place in the cluster: a node, or a hop from one node to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The index of the node, or of the hop's near end, in the plan; `None` if the place is all
    /// nodes.
    pub node: Option<usize>,
    /// The index of the hop's far end; `None` for a node.
    pub to: Option<usize>,
}

/// The nanoseconds in which a stage at a place was busy, whether or not on the critical path.
pub(super) type Busy = (Cause, Place, i64);

/// A segment of the critical path, on the head's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The start in nanoseconds.
    pub begin: i64,
    /// The end in nanoseconds.
    pub end: i64,
    /// The cause of the time.
    pub cause: Cause,
    /// The node or hop at which the time was spent.
    pub place: Place,
    /// For a straggler, the cause of its time; otherwise `None`.
    pub within: Option<Cause>,
    /// For a straggler, where its time was spent; otherwise `None`.
    pub(super) within_at: Option<Place>,
    /// The thread that worked or waited; its counters are evidence of the cause.
    pub(super) thread: Option<usize>,
}

impl Place {
    /// Returns the place of a node.
    pub fn node(node: usize) -> Self {
        Self { node: Some(node), to: None }
    }

    /// Returns the place of a hop.
    pub fn hop(from: usize, to: usize) -> Self {
        Self { node: Some(from), to: Some(to) }
    }
}

impl Segment {
    /// Returns a segment of `cause` at `place`.
    pub fn new(begin: i64, end: i64, cause: Cause, place: Place) -> Self {
        Self { begin, end, cause, place, within: None, within_at: None, thread: None }
    }

    /// Returns the length of the segment in nanoseconds.
    pub fn ns(&self) -> u64 {
        u64::try_from(self.end - self.begin).unwrap_or(0)
    }

    /// Returns the cause and the place of the time, whether or not it is a straggler's.
    pub(super) fn family(&self) -> (Cause, Place) {
        (self.within.unwrap_or(self.cause), self.within_at.unwrap_or(self.place))
    }

    /// Splits the segment: its parts within the sorted periods `of` get `cause` and `place`; the
    /// other parts are unchanged. Appends all parts to `into`.
    pub(super) fn overlaid(
        self,
        of: &[(i64, i64)],
        cause: Cause,
        place: Place,
        into: &mut Vec<Self>,
    ) {
        let mut at = self.begin;
        for &(begin, end) in of {
            let begin = begin.max(at);
            let end = end.min(self.end);
            if begin < end {
                into.extend((at < begin).then_some(Self { begin: at, end: begin, ..self }));
                into.push(Self::new(begin, end, cause, place));
                at = end;
            }
        }
        into.extend((at < self.end).then_some(Self { begin: at, ..self }));
    }

    /// Splits off the first part of the segment, which is the fraction `share` of its time, and
    /// appends it to `into` with another cause and place. Returns the rest.
    pub(super) fn shared(
        self,
        share: f64,
        cause: Cause,
        place: Place,
        into: &mut Vec<Self>,
    ) -> Self {
        let ns = (self.ns() as f64 * share.clamp(0.0, 1.0)) as i64;
        if ns > 0 {
            into.push(Self { end: self.begin + ns, cause, place, ..self });
        }
        Self { begin: self.begin + ns, ..self }
    }
}

/// Joins adjacent segments of one cause and place; drops empty ones.
pub(super) fn joined(segments: Vec<Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(segments.len());
    for segment in segments.into_iter().filter(|segment| segment.end > segment.begin) {
        let same = |last: &Segment| {
            let key = |s: &Segment| (s.cause, s.place, s.family());
            last.end == segment.begin && key(last) == key(&segment)
        };
        match all.last_mut() {
            Some(last) if same(last) => last.end = segment.end,
            _ => all.push(segment),
        }
    }
    all
}
