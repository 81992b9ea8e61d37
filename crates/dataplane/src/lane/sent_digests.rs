//! Tracks which signed digests of a lane each downstream has.

/// The range of digests that was sent over each link downstream.
#[derive(Debug, Default)]
pub(super) struct SentDigests(Vec<Sent>);

#[derive(Debug)]
struct Sent {
    epoch: u32,
    /// The downstream requested blocks from this place in the lane on. It has the digests of
    /// earlier places, or requests them one by one.
    since: u64,
    /// The downstream has the digests of the places from `since` (included) to this one (excluded).
    until: u64,
}

/// The digests to send over a link.
pub(super) enum Missing {
    /// Only the window of this block, which lies before the place at which the link begins.
    Single,
    /// All windows from this place in the lane on.
    From(u64),
}

impl SentDigests {
    /// Adds the link `epoch`, whose downstream begins at `place` in the lane. Removes links for
    /// whose epochs `is_open` returns false.
    pub fn begin(&mut self, epoch: u32, place: u64, is_open: impl Fn(u32) -> bool) {
        self.0.retain(|sent| sent.epoch != epoch && is_open(sent.epoch));
        self.0.push(Sent { epoch, since: place, until: place });
    }

    /// Returns which digests to send over the link `epoch` before the block at `place`; none if the
    /// link is unknown.
    pub fn missing(&self, epoch: u32, place: u64) -> Option<Missing> {
        let sent = self.0.iter().find(|sent| sent.epoch == epoch)?;
        // The downstream may lack the digest of a block before its first one.
        let before = place < sent.since;
        Some(if before { Missing::Single } else { Missing::From(sent.until) })
    }

    /// Records that the digests of all places before `until` were sent over the link `epoch`.
    pub fn advance(&mut self, epoch: u32, until: u64) {
        let sent = self.0.iter_mut().find(|sent| sent.epoch == epoch);
        sent.into_iter().for_each(|sent| sent.until = until);
    }
}
