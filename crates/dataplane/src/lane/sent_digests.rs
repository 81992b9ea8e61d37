//! Which signed digests of a lane each downstream has.

/// The digests that were sent over each link downstream, by the link's epoch.
#[derive(Debug, Default)]
pub(super) struct SentDigests(Vec<Sent>);

#[derive(Debug)]
struct Sent {
    epoch: u32,
    /// The place in the lane from which on the link was opened. The downstream has older digests,
    /// or asks for them.
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
    /// A downstream begins at `place`. Forgets the links for which `is_open` is false.
    pub fn begin(&mut self, epoch: u32, place: u64, is_open: impl Fn(u32) -> bool) {
        self.0.retain(|sent| sent.epoch != epoch && is_open(sent.epoch));
        self.0.push(Sent { epoch, since: place, until: place });
    }

    /// What a link lacks before the block at `place` is sent over it; none of an unknown link.
    pub fn missing(&self, epoch: u32, place: u64) -> Option<Missing> {
        let sent = self.0.iter().find(|sent| sent.epoch == epoch)?;
        // Such a block may have passed by the downstream without its digest.
        let before = place < sent.since;
        Some(if before { Missing::Single } else { Missing::From(sent.until) })
    }

    /// Digests of the places before `until` were sent over a link.
    pub fn advance(&mut self, epoch: u32, until: u64) {
        let sent = self.0.iter_mut().find(|sent| sent.epoch == epoch);
        sent.into_iter().for_each(|sent| sent.until = until);
    }
}
