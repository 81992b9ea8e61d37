//! A set of block indices, one bit each: 128 KiB for a million blocks.

/// Which of `len` blocks are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSet {
    words: Vec<u64>,
    len: u64,
    count: u64,
}

impl BlockSet {
    /// An empty set that can hold the indices below `len`.
    #[must_use]
    pub fn new(len: u64) -> Self {
        let words = usize::try_from(len.div_ceil(64)).expect("a block table fits the memory");
        Self { words: vec![0; words], len, count: 0 }
    }

    /// A set that holds every index below `len`.
    #[must_use]
    pub fn full(len: u64) -> Self {
        let mut set = Self::new(len);
        set.words.fill(u64::MAX);
        if let Some(last) = set.words.last_mut().filter(|_| !len.is_multiple_of(64)) {
            *last = (1 << (len % 64)) - 1;
        }
        Self { count: len, ..set }
    }

    /// Adds `index`; says whether it is new. An index beyond the set's length is never in.
    pub fn insert(&mut self, index: u64) -> bool {
        if index >= self.len || self.contains(index) {
            return false;
        }
        self.words[(index / 64) as usize] |= 1 << (index % 64);
        self.count += 1;
        true
    }

    /// Takes `index` out; says whether it was in.
    pub fn remove(&mut self, index: u64) -> bool {
        let was_in = self.contains(index);
        if was_in {
            self.words[(index / 64) as usize] &= !(1 << (index % 64));
            self.count -= 1;
        }
        was_in
    }

    /// Whether `index` is in.
    #[must_use]
    pub fn contains(&self, index: u64) -> bool {
        index < self.len && self.words[(index / 64) as usize] >> (index % 64) & 1 == 1
    }

    /// How many indices are in.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether every index below the length is in.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count == self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_is_in_once() {
        let mut set = BlockSet::new(130);
        assert!(set.insert(129));
        assert!(!set.insert(129));
        assert!(!set.insert(130), "beyond the end");
        assert!(set.contains(129) && !set.contains(128) && !set.contains(1000));
        assert_eq!(set.count(), 1);
        assert!(set.remove(129) && !set.remove(129) && !set.remove(130));
        assert!(set.count() == 0 && set.insert(129));
    }

    #[test]
    fn full_is_full() {
        assert!(BlockSet::new(0).is_full());
        for len in [1, 64, 65] {
            let full = BlockSet::full(len);
            assert!(full.is_full() && full.contains(len - 1) && !full.contains(len));
        }
        assert!(!BlockSet::new(1).is_full());
    }
}
