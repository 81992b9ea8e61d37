//! The seeds that a test runs: always the same, unless `GARLAND_SIM_SEEDS` requests others.

/// The number of seeds of the quickest tests.
const USUAL: u64 = 2000;

/// A range of seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    first: u64,
    count: u64,
}

impl Seeds {
    /// Returns the first `count` seeds; as a share of `GARLAND_SIM_SEEDS` if it is set: `COUNT`, or
    /// `FIRST+COUNT`, is for the tests that run [`USUAL`] seeds, and others run as many as they do
    /// beside those.
    ///
    /// # Panics
    /// When `GARLAND_SIM_SEEDS` has another form.
    #[must_use]
    pub fn asked_for(count: u64) -> Self {
        let Some(text) = std::env::var_os("GARLAND_SIM_SEEDS") else {
            return Self { first: 0, count };
        };
        let text = text.to_string_lossy();
        let asked = Self::parse(&text)
            .unwrap_or_else(|| panic!("GARLAND_SIM_SEEDS={text}: must be COUNT or FIRST+COUNT"));
        asked.share(count)
    }

    fn share(self, count: u64) -> Self {
        Self { count: (self.count * count).div_ceil(USUAL), ..self }
    }

    fn parse(text: &str) -> Option<Self> {
        let (first, count) = text.split_once('+').unwrap_or(("0", text));
        Some(Self { first: first.parse().ok()?, count: count.parse().ok()? })
    }

    /// Returns a single seed.
    #[must_use]
    pub fn one(seed: u64) -> Self {
        Self { first: seed, count: 1 }
    }

    /// Returns a quarter of the seeds, at least one.
    #[must_use]
    pub fn a_quarter(self) -> Self {
        Self { count: self.count.div_ceil(4), ..self }
    }

    /// Returns the seeds in order.
    pub fn iter(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |place| self.first.wrapping_add(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_copy_can_be_repeated() {
        assert_eq!(Seeds::parse("50"), Some(Seeds { first: 0, count: 50 }));
        let one = Seeds::parse("77+1").expect("it is one seed");
        assert!(one.a_quarter().iter().eq([77]));
        assert!(one.share(20).iter().eq([77]), "a slower test repeats it, too");
        assert_eq!(Seeds::parse("20000").expect("a number").share(20).iter().count(), 200);
        assert_eq!(Seeds::parse("77+"), None);
    }
}
