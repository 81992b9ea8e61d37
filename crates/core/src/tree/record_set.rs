//! Sets of record numbers of a tree's stream.

/// A set of record numbers as a bitmap: one byte for eight records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSet(Vec<u8>);

impl RecordSet {
    /// Returns an empty set for `records` records.
    #[must_use]
    pub fn new(records: u32) -> Self {
        Self(vec![0; records.div_ceil(8) as usize])
    }

    /// Returns the set of all `records` records.
    #[must_use]
    pub fn full(records: u32) -> Self {
        let mut set = Self::new(records);
        (0..records).for_each(|number| set.insert(number));
        set
    }

    /// Adds record `number`. A number beyond those that the set is for is ignored.
    pub fn insert(&mut self, number: u32) {
        if let Some(byte) = self.0.get_mut(number as usize / 8) {
            *byte |= 1 << (number % 8);
        }
    }

    /// Returns whether record `number` is in the set.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 8).is_some_and(|byte| byte >> (number % 8) & 1 == 1)
    }

    /// Returns whether no record is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// Returns the bitmap: record `n` is bit `n % 8`, from the lowest, of byte `n / 8`.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Removes the records that are not in `piece`, a piece of another set's bitmap that begins at
    /// byte `at`.
    pub fn intersect(&mut self, at: usize, piece: &[u8]) {
        let own = self.0.iter_mut().skip(at);
        own.zip(piece).for_each(|(own, other)| *own &= other);
    }

    /// Removes the records of all bytes of the bitmap from byte `at` on.
    pub fn clear_from(&mut self, at: usize) {
        self.0.iter_mut().skip(at).for_each(|byte| *byte = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_sets_have_is_left() {
        let mut all = RecordSet::full(20);
        assert!((0..20).all(|number| all.contains(number)) && !all.contains(20));
        let mut other = RecordSet::new(20);
        for number in [3, 9, 19, 24] {
            other.insert(number);
        }
        let (first, rest) = other.bytes().split_at(1);
        all.intersect(0, first);
        all.intersect(1, rest);
        assert_eq!(all, other);
        assert!((0..30).filter(|number| all.contains(*number)).eq([3, 9, 19]));
        all.clear_from(1);
        assert!(all.contains(3) && !all.contains(9) && !all.is_empty());
        all.clear_from(0);
        assert!(all.is_empty());
    }
}
