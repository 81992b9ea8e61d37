//! The seeds that a test runs: always the same, unless `GARLAND_SIM_SEEDS` requests others.

/// A range of seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    first: u64,
    count: u64,
}

impl Seeds {
    /// Returns the seeds of `GARLAND_SIM_SEEDS`: `COUNT`, or `FIRST+COUNT`. If it is not set, returns
    /// the first `count`.
    ///
    /// # Panics
    /// When `GARLAND_SIM_SEEDS` has another form.
    #[must_use]
    pub fn asked_for(count: u64) -> Self {
        let Some(text) = std::env::var_os("GARLAND_SIM_SEEDS") else {
            return Self { first: 0, count };
        };
        let text = text.to_string_lossy();
        Self::parse(&text)
            .unwrap_or_else(|| panic!("GARLAND_SIM_SEEDS={text}: must be COUNT or FIRST+COUNT"))
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
        assert_eq!(Seeds::parse("77+"), None);
    }
}
