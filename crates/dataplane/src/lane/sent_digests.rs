//! Keeps track of the signed digests of a lane that each downstream has.

/// The digests that were sent over each link downstream, by the link's epoch.
#[derive(Debug, Default)]
pub(super) struct SentDigests(Vec<Sent>);

#[derive(Debug)]
struct Sent {
    epoch: u32,
    /// The place in the lane at which the link begins. The downstream has the digests of earlier
    /// places, or requests them.
    since: u64,
    /// The downstream has the digests of the places before this one.
    until: u64,
}

/// The digests to send over a link.
pub(super) enum Missing {
    /// Only the window of this block: it lies before the place at which the link was opened.
    Single,
    /// All windows from this place on.
    From(u64),
}

impl SentDigests {
    /// Adds a downstream that begins at `place`. Forgets the links for which `is_open` is false.
    pub fn begin(&mut self, epoch: u32, place: u64, is_open: impl Fn(u32) -> bool) {
        self.0.retain(|sent| sent.epoch != epoch && is_open(sent.epoch));
        self.0.push(Sent { epoch, since: place, until: place });
    }

    /// Returns the digests to send over a link before the block at `place`; none if the link is
    /// unknown.
    pub fn missing(&self, epoch: u32, place: u64) -> Option<Missing> {
        let sent = self.0.iter().find(|sent| sent.epoch == epoch)?;
        // The downstream may lack the digest of a block before its first one.
        let before = place < sent.since;
        Some(if before { Missing::Single } else { Missing::From(sent.until) })
    }

    /// Records that the digests of the places before `until` were sent over a link.
    pub fn advance(&mut self, epoch: u32, until: u64) {
        let sent = self.0.iter_mut().find(|sent| sent.epoch == epoch);
        sent.into_iter().for_each(|sent| sent.until = until);
    }
}
