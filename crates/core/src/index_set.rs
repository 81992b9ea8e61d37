//! Sets of numbers of blocks, or of records of a tree, as bitmaps: at most 128 KiB for a million.

/// A set of indices below `len`.
#[derive(Clone, Debug, Default)]
pub struct IndexSet {
    /// The bitmap up to the largest index ever inserted: a stream of unknown length may have very
    /// many blocks, but rarely does.
    words: Vec<u64>,
    len: u64,
    count: u64,
}

impl IndexSet {
    /// Returns an empty set for indices below `len`.
    pub fn new(len: u64) -> Self {
        Self { words: Vec::new(), len, count: 0 }
    }

    /// Returns the set of all indices below `len`.
    pub fn full(len: u64) -> Self {
        let words = usize::try_from(len.div_ceil(64)).expect("a set of indices fits in memory");
        let mut words = vec![u64::MAX; words];
        if let Some(last) = words.last_mut().filter(|_| !len.is_multiple_of(64)) {
            *last = (1 << (len % 64)) - 1;
        }
        Self { words, len, count: len }
    }

    /// Inserts `index`; returns whether it is new. Indices beyond the length are ignored.
    pub fn insert(&mut self, index: u64) -> bool {
        if index >= self.len || self.contains(index) {
            return false;
        }
        let word = usize::try_from(index / 64).expect("a set of indices fits in memory");
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (index % 64);
        self.count += 1;
        true
    }

    /// Removes `index`; returns whether it was in the set.
    pub fn remove(&mut self, index: u64) -> bool {
        let was_in = self.contains(index);
        if was_in {
            self.words[(index / 64) as usize] &= !(1 << (index % 64));
            self.count -= 1;
        }
        was_in
    }

    /// Returns whether `index` is in the set.
    pub fn contains(&self, index: u64) -> bool {
        let word = usize::try_from(index / 64).ok().and_then(|word| self.words.get(word));
        index < self.len && word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Returns the number of indices in the set.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether no index is in the set.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the bitmap: index `n` is bit `n % 8`, from the lowest, of byte `n / 8`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length =
            usize::try_from(self.len.div_ceil(8)).expect("a set of indices fits in memory");
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(length, 0);
        bytes
    }

    /// Removes the indices that are not in `piece`, a piece of another set's bitmap that begins at
    /// byte `at`.
    pub fn intersect(&mut self, at: usize, piece: &[u8]) {
        for (ahead, other) in piece.iter().enumerate() {
            let byte = at.saturating_add(ahead);
            let Some(word) = self.words.get_mut(byte / 8) else { break };
            let mut bytes = word.to_le_bytes();
            let own = bytes[byte % 8];
            bytes[byte % 8] = own & other;
            *word = u64::from_le_bytes(bytes);
            self.count -= u64::from((own & !other).count_ones());
        }
    }

    /// Removes the indices of all bytes of the bitmap from byte `at` on.
    pub fn clear_from(&mut self, at: usize) {
        let length = self.words.len() * 8;
        self.intersect(at, &vec![0; length.saturating_sub(at)]);
    }

    /// Returns whether every index below the length is in the set.
    pub fn is_full(&self) -> bool {
        self.count == self.len
    }
}

impl PartialEq for IndexSet {
    fn eq(&self, other: &Self) -> bool {
        let shared = self.words.len().min(other.words.len());
        // The counts are equal, so words beyond the shared ones are zero.
        (self.len, self.count) == (other.len, other.count)
            && self.words[..shared] == other.words[..shared]
    }
}

impl Eq for IndexSet {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_is_in_once() {
        let mut set = IndexSet::new(130);
        assert!(set.insert(129));
        assert!(!set.insert(129));
        assert!(!set.insert(130), "beyond the end");
        assert!(set.contains(129) && !set.contains(128) && !set.contains(1000));
        assert_eq!(set.count(), 1);
        assert!(set.remove(129) && !set.remove(129) && !set.remove(130));
        assert!(set.count() == 0 && set.insert(129));
    }

    #[test]
    fn sets_are_equal_whatever_they_held_before() {
        let mut one = IndexSet::new(1000);
        one.insert(3);
        let mut other = one.clone();
        assert!(other.insert(999) && other != one);
        assert!(other.remove(999) && other == one);
        other.remove(3);
        other.insert(999);
        assert_ne!(other, one, "as many, but others");
        assert_ne!(IndexSet::new(1), IndexSet::new(2));
    }

    #[test]
    fn a_set_has_memory_for_what_is_in_it() {
        let mut set = IndexSet::new(u64::MAX);
        assert!(set.insert(640) && !set.contains(u64::MAX - 1));
        assert!(set.words.len() <= 11 && !set.remove(641));
    }

    #[test]
    fn what_all_sets_have_is_left() {
        let mut all = IndexSet::full(20);
        let mut other = IndexSet::new(20);
        for number in [3, 9, 19] {
            other.insert(number);
        }
        let bytes = other.to_bytes();
        assert_eq!(bytes, [1 << 3, 1 << 1, 1 << 3]);
        let (first, rest) = bytes.split_at(1);
        all.intersect(0, first);
        all.intersect(1, rest);
        all.intersect(3, &[0, 255]);
        assert_eq!(all, other);
        assert!((0..30).filter(|number| all.contains(*number)).eq([3, 9, 19]));
        all.clear_from(1);
        assert!(all.contains(3) && !all.contains(9) && all.count() == 1);
        all.clear_from(0);
        assert!(all.is_empty());
        all.clear_from(9);
        assert_eq!(IndexSet::full(130).to_bytes()[15..], [255, 3]);
        assert_eq!(IndexSet::new(130).to_bytes(), [0; 17]);
    }

    #[test]
    fn full_is_full() {
        assert!(IndexSet::new(0).is_full());
        for len in [1, 64, 65] {
            let all = IndexSet::full(len);
            assert!(all.is_full() && all.contains(len - 1) && !all.contains(len));
        }
        assert!(!IndexSet::new(1).is_full());
    }
}
