//! Bounds of a listing: a store may give parts of one without end.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use garland_sys::sync::Mutex;
use thiserror::Error;

/// The maximum number of bytes that are kept of a listing: some ten million objects with keys of
/// 100 bytes.
const LISTING_KEPT_MAX: u64 = 4 << 30;

/// The number of bytes that are kept for an object, without its texts, or for a part of the
/// listing.
const OBJECT_KEPT: u64 = 300;

/// What to do about a listing that takes too much memory.
pub(crate) const IN_PARTS: &str = "copy parts of it, each by a longer prefix";

/// What the error says of a listing that takes too much memory, and no other.
pub(crate) const TOO_LONG: &str = "the server's listing takes more than";

/// A listing that is not read to its end, which it may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Unbounded {
    #[error("{TOO_LONG} {} MiB of memory", _0 >> 20)]
    TooLong(u64),
    #[error("the server leads to a part of the listing that it has given before")]
    Circle,
}

/// What the parts of a listing have come to.
#[derive(Clone, Debug)]
pub(crate) struct ListingBounds {
    state: Arc<Mutex<State>>,
    /// The maximum number of bytes that are kept.
    kept_max: u64,
}

#[derive(Debug, Default)]
struct State {
    kept: u64,
    /// Hashes of the tokens by which parts were asked for.
    tokens: BTreeSet<u64>,
}

impl Default for ListingBounds {
    fn default() -> Self {
        Self { state: Arc::default(), kept_max: LISTING_KEPT_MAX }
    }
}

impl ListingBounds {
    /// Counts an object of which `texts` bytes of text are kept.
    ///
    /// # Errors
    /// When the listing takes too much memory with it.
    pub(crate) fn keep(&self, texts: usize) -> Result<(), Unbounded> {
        let mut state = self.state.lock();
        state.kept = state.kept.saturating_add(OBJECT_KEPT + texts as u64);
        if state.kept > self.kept_max { Err(Unbounded::TooLong(self.kept_max)) } else { Ok(()) }
    }

    /// Counts a part of the listing, the answer to `query`.
    ///
    /// # Errors
    /// When the same query was answered before, so that the listing would never end, or the
    /// listing has too many parts.
    pub(crate) fn advance(&self, query: &str) -> Result<(), Unbounded> {
        let mut hasher = DefaultHasher::new();
        query.hash(&mut hasher);
        if !self.state.lock().tokens.insert(hasher.finish()) {
            return Err(Unbounded::Circle);
        }
        self.keep(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ListingBounds {
        /// Returns bounds of so many objects and parts without texts.
        pub(crate) fn of_objects(count: u64) -> Self {
            Self { kept_max: count * OBJECT_KEPT, ..Self::default() }
        }
    }

    #[test]
    fn parts_objects_and_their_texts_are_bounded_together() {
        let bounds = ListingBounds::of_objects(4);
        let too_long = Err(Unbounded::TooLong(4 * OBJECT_KEPT));
        assert_eq!(bounds.advance("list-type=2"), Ok(()));
        assert_eq!(bounds.keep(0), Ok(()));
        assert_eq!(bounds.keep(OBJECT_KEPT as usize), Ok(()));
        assert_eq!(bounds.clone().keep(0), too_long);
        assert_eq!(bounds.advance("list-type=2&continuation-token=a"), too_long);
    }

    #[test]
    fn each_part_comes_once() {
        let bounds = ListingBounds::default();
        assert_eq!(bounds.advance("a"), Ok(()));
        assert_eq!(bounds.advance("b"), Ok(()));
        assert_eq!(bounds.advance("a"), Err(Unbounded::Circle));
    }
}
