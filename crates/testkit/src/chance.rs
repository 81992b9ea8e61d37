//! Random numbers that a seed and the number of a round repeat.

/// A generator of random numbers (xorshift64*, Vigna 2016).
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// The numbers of a round; other rounds of the same seed have others.
    #[must_use]
    pub fn new(seed: u64, round: u64) -> Self {
        let mixed =
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ round.wrapping_mul(0xD134_2543_DE82_EF95);
        let mut chance = Self(mixed | 1);
        // Seeds that differ little begin with numbers that differ little.
        for _ in 0..8 {
            chance.below(2);
        }
        chance
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % end.max(1)
    }

    /// Puts `items` in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, usize::try_from(self.below(last as u64 + 1)).expect("an index"));
        }
    }

    /// Returns one of `choices`.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).expect("an index")]
    }
}
