//! What a tool found in one turn, and what all turns come to.

use serde::Serialize;

use super::super::result::Spread;

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Statistic {
    Median,
    /// Of all, or a rate.
    Mean,
    /// The best of three means.
    Best,
}

impl Statistic {
    /// All of them, what tells most first.
    pub(crate) const ALL: [Self; 3] = [Self::Median, Self::Mean, Self::Best];

    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Mean => "mean",
            Self::Best => "best of three means",
        }
    }
}

/// What a tool found in one turn. Few tell everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// The median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) median: Option<f64>,
    /// The mean, or a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mean: Option<f64>,
    /// The best of three means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) best: Option<f64>,
    /// What else it tells, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<String>,
}

impl Figure {
    /// A mean or a rate, and nothing else.
    pub(crate) fn of(mean: f64) -> Self {
        Self { mean: Some(mean), ..Self::default() }
    }

    /// One of its numbers.
    pub(crate) fn number(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Median => self.median,
            Statistic::Mean => self.mean,
            Statistic::Best => self.best,
        }
    }
}

/// One tool's turns, one a round; nothing where it failed.
#[derive(Serialize)]
pub(crate) struct Entry {
    /// The tool.
    pub(crate) tool: &'static str,
    /// What it found.
    pub(crate) turns: Vec<Option<Figure>>,
    /// Why the first turn that failed did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
}

impl Entry {
    /// Over all turns, of what tells most.
    pub(crate) fn spread(&self) -> Option<(Statistic, Spread)> {
        let statistic = self.tells().next()?;
        let figures = self.turns.iter().flatten();
        let numbers = figures.filter_map(|figure| figure.number(statistic)).collect();
        Some((statistic, Spread::of(numbers)?))
    }

    /// This tool's figures as multiples of the `other`'s in the same round: both met the same
    /// mishaps. Compared is what both tell.
    pub(crate) fn ratio(&self, other: &Self) -> Option<(Statistic, Spread)> {
        let statistic = self.tells().find(|own| other.tells().any(|theirs| theirs == *own))?;
        let number = |turn: &Option<Figure>| turn.as_ref()?.number(statistic);
        let rounds = self.turns.iter().zip(&other.turns);
        let ratios = rounds.filter_map(|(own, other)| Some(number(own)? / number(other)?));
        Some((statistic, Spread::of(ratios.collect())?))
    }

    /// What was told beside the figure of the middle turn.
    pub(crate) fn beside(&self) -> Option<&str> {
        let (statistic, spread) = self.spread()?;
        let away = |figure: &&Figure| {
            figure.number(statistic).map_or(f64::INFINITY, |it| (it - spread.median).abs())
        };
        let figures = self.turns.iter().flatten();
        figures.min_by(|a, b| away(a).total_cmp(&away(b)))?.beside.as_deref()
    }

    /// What it tells in all of its turns.
    fn tells(&self) -> impl Iterator<Item = Statistic> {
        let told = |statistic: &Statistic| {
            let mut figures = self.turns.iter().flatten();
            figures.all(|figure| figure.number(*statistic).is_some())
        };
        Statistic::ALL.into_iter().filter(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(turns: &[Option<[f64; 3]>]) -> Entry {
        let some = |number: f64| Some(number).filter(|&number| number > 0.0);
        let figure = |&[median, mean, best]: &[f64; 3]| Figure {
            median: some(median),
            mean: some(mean),
            best: some(best),
            beside: None,
        };
        let turns = turns.iter().map(|turn| turn.as_ref().map(figure)).collect();
        Entry { tool: "tool", turns, failed: None }
    }

    #[test]
    fn like_is_compared_with_like() {
        let ours = entry(&[Some([4.0, 6.0, 5.0]), Some([8.0, 12.0, 10.0])]);
        let ratio = |theirs: &[Option<[f64; 3]>]| {
            ours.ratio(&entry(theirs)).map(|(statistic, spread)| (statistic, spread.median))
        };
        let median = [Some([2.0, 1.0, 0.0]), Some([4.0, 1.0, 0.0])];
        assert_eq!(ratio(&median), Some((Statistic::Median, 2.0)));
        let mean = [Some([0.0, 3.0, 0.0]), Some([4.0, 6.0, 0.0])];
        assert_eq!(ratio(&mean), Some((Statistic::Mean, 2.0)));
        let best = [Some([0.0, 0.0, 5.0]), Some([0.0, 0.0, 10.0])];
        assert_eq!(ratio(&best), Some((Statistic::Best, 1.0)));
        let (statistic, spread) = entry(&mean).spread().unwrap();
        assert_eq!((statistic, spread.max), (Statistic::Mean, 6.0));
    }

    #[test]
    fn only_rounds_that_both_have_count() {
        let ours = entry(&[Some([0.0, 1.0, 0.0]), None, Some([0.0, 3.0, 0.0])]);
        let theirs = entry(&[None, Some([0.0, 5.0, 0.0]), Some([0.0, 1.5, 0.0])]);
        let (_, ratio) = ours.ratio(&theirs).unwrap();
        assert_eq!((ratio.median, ratio.min, ratio.max), (2.0, 2.0, 2.0));
        assert_eq!(entry(&[None]).ratio(&ours), None);
    }
}
