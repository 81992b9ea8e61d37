//! What each condition of the time adds to the script's time, in seconds.

use std::fmt::{self, Display, Formatter};

use garland_analysis::grade::Published;

/// The script's time to one number of receivers, and what the conditions of the time make of it.
pub struct Shares<'a> {
    receivers: u32,
    published: &'a Published,
    /// Seconds without a condition.
    bare_s: f64,
    /// The conditions, each with its seconds and whether it is one alone.
    with: Vec<(&'a str, f64, bool)>,
}

impl<'a> Shares<'a> {
    /// Takes the published time to so many `receivers`, that of the lab as it is, and those with
    /// conditions.
    pub fn new(
        receivers: u32,
        published: &'a Published,
        bare_s: f64,
        with: Vec<(&'a str, f64, bool)>,
    ) -> Self {
        Self { receivers, published, bare_s, with }
    }

    /// Returns the condition that adds most when it is alone, and the seconds that it adds; `None`
    /// if none adds any.
    fn largest(&self) -> Option<(&'a str, f64)> {
        let alone = self.with.iter().filter(|(_, _, alone)| *alone);
        let added = alone.map(|(name, seconds, _)| (*name, seconds - self.bare_s));
        added.filter(|(_, more)| *more > 0.0).max_by(|one, two| one.1.total_cmp(&two.1))
    }
}

impl Display for Shares<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { receivers, published, bare_s, with } = self;
        let more = published.middle() - bare_s;
        writeln!(
            f,
            "\nto {receivers}: {published} s then, {bare_s:.2} s in the lab as it is; {more:+.2} s to explain"
        )?;
        for (name, seconds, _) in with {
            let added = seconds - bare_s;
            writeln!(f, "  {added:+7.2} s, to {seconds:6.2} s   {name}")?;
        }
        match self.largest() {
            Some((name, added)) => {
                let percent = added / more * 100.0;
                writeln!(f, "largest share: {name}, {added:.2} of {more:.2} s ({percent:.0} %)")?;
            }
            None => writeln!(f, "largest share: none of these adds to the time")?,
        }
        let Some((_, most, _)) = with.iter().max_by(|one, two| one.1.total_cmp(&two.1)) else {
            return Ok(());
        };
        let left = published.least() - most;
        if left > 0.0 {
            writeln!(f, "left unexplained: {left:.2} s at least, whichever of these was there")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(with: Vec<(&str, f64, bool)>) -> String {
        Shares::new(20, &"19.5 - 20.5".parse().unwrap(), 8.0, with).to_string()
    }

    #[test]
    fn the_largest_share_is_one_condition_alone() {
        let text = text_of(vec![("a", 10.0, true), ("b", 14.0, true), ("a + b", 19.0, false)]);
        assert!(text.contains("+12.00 s to explain"), "{text}");
        assert!(text.contains("+2.00 s, to  10.00 s   a\n"), "{text}");
        assert!(text.contains("largest share: b, 6.00 of 12.00 s (50 %)"), "{text}");
        assert!(text.contains("left unexplained: 0.50 s at least"), "{text}");
    }

    #[test]
    fn what_takes_no_time_explains_none() {
        let text = text_of(vec![("a", 8.0, true), ("b", 7.5, true)]);
        assert!(text.contains("none of these adds"), "{text}");
        assert!(text.contains("left unexplained: 11.50 s"), "{text}");
    }

    #[test]
    fn nothing_is_left_where_the_time_was_reached() {
        let text = text_of(vec![("a", 20.0, true)]);
        assert!(!text.contains("left unexplained"), "{text}");
    }
}
