//! The fingerprint of a file's bytes: by it, a file that is read again is recognised as the same.

/// The number of words of eight bytes in a chunk.
const WORDS: usize = 64;

/// The length of a chunk in bytes.
const CHUNK: usize = 8 * WORDS;

/// What the words of a chunk are multiplied by.
static WORD_KEYS: [u64; WORDS] = word_keys();

/// The sum of all words of a file, each multiplied by a number that depends on its offset. Zeros
/// add nothing, so that holes need not be read, and pieces may be added in any order. It costs a
/// fraction of a digest, and detects accidental changes, not forged ones. It has no secret key,
/// since a forger gains nothing: a user who can change a file while it is copied, so that a mixture
/// of both contents passes, could have written the mixture into the file. The fingerprint vouches
/// for no other file, and for no node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Adds the `bytes` at `offset` of the file. No byte may be added twice.
    pub fn add(&mut self, offset: u64, bytes: &[u8]) {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let inside = (at % CHUNK as u64) as usize;
            let (part, behind) = rest.split_at(rest.len().min(CHUNK - inside));
            let sum = match part.try_into() {
                Ok(whole) => sum_of(whole),
                Err(_) => {
                    let mut padded = [0; CHUNK];
                    padded[inside..inside + part.len()].copy_from_slice(part);
                    sum_of(&padded)
                }
            };
            if sum != 0 {
                let key = chunk_key(at / CHUNK as u64);
                self.0 = self.0.wrapping_add(sum.wrapping_mul(key));
            }
            at += part.len() as u64;
            rest = behind;
        }
    }

    /// Returns the fingerprint as a shorter number.
    #[must_use]
    pub fn folded(self) -> u64 {
        (self.0 >> 64) as u64 ^ self.0 as u64
    }
}

fn sum_of(chunk: &[u8; CHUNK]) -> u128 {
    let (words, _) = chunk.as_chunks::<8>();
    let products = words.iter().zip(&WORD_KEYS).map(|(word, key)| {
        let word = u64::from_le_bytes(*word);
        u128::from(word) * u128::from(*key)
    });
    products.fold(0, u128::wrapping_add)
}

fn chunk_key(number: u64) -> u128 {
    let high = u128::from(mixed(number.wrapping_mul(2)));
    let low = u128::from(mixed(number.wrapping_mul(2).wrapping_add(1)));
    high << 64 | low | 1
}

const fn word_keys() -> [u64; WORDS] {
    let mut keys = [0; WORDS];
    let mut at = 0;
    while at < WORDS {
        // Other numbers than those of chunks; only that of the largest one would be 0.
        keys[at] = mixed(1 << 63 | at as u64);
        at += 1;
    }
    keys
}

/// Returns a number that looks random (the finish of SplitMix64).
const fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(bytes: &[u8]) -> u64 {
        let mut all = Fingerprint::default();
        all.add(0, bytes);
        all.folded()
    }

    proptest! {
        #[test]
        fn pieces_may_be_cut_anywhere_and_zeros_be_left_out(
            bytes in proptest::collection::vec(any::<u8>(), 1..2000),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
            hole in any::<prop::sample::Index>(),
        ) {
            let mut bytes = bytes;
            let hole = hole.index(bytes.len());
            let end = bytes.len().min(hole + 700);
            bytes[hole..end].fill(0);
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            ends.extend([hole, end, bytes.len()]);
            ends.sort_unstable();
            let mut pieces = Fingerprint::default();
            let mut begin = 0;
            for end in ends {
                if begin != hole {
                    pieces.add(begin as u64, &bytes[begin..end]);
                }
                begin = end;
            }
            prop_assert_eq!(pieces.folded(), of(&bytes));
        }

        #[test]
        fn a_change_shows(
            bytes in proptest::collection::vec(any::<u8>(), 1..2000),
            at in any::<prop::sample::Index>(),
            bit in 0_u32..8,
        ) {
            let mut other = bytes.clone();
            other[at.index(bytes.len())] ^= 1_u8 << bit;
            prop_assert_ne!(of(&bytes), of(&other));
        }
    }

    #[test]
    fn what_two_changes_do_does_not_cancel_out() {
        assert!(!WORD_KEYS.contains(&0));
        let bytes = vec![7; 4 * CHUNK];
        // Swapped words, and the highest bits of two words.
        let mut swapped = bytes.clone();
        swapped[3] = 9;
        let mut moved = bytes.clone();
        moved[3 + CHUNK] = 9;
        assert_ne!(of(&swapped), of(&moved));
        let mut flipped = bytes.clone();
        [7, 15, 7 + CHUNK, 15 + CHUNK].into_iter().for_each(|at| flipped[at] ^= 0x80);
        assert_ne!(of(&bytes), of(&flipped));
    }
}
