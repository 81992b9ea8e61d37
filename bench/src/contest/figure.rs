//! The figures that a tool measures in one turn, and their spread over all turns.

use serde::Serialize;

use super::super::spread::Spread;

/// A statistic that a tool prints about its operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Statistic {
    Median,
    /// The mean of all operations, or a rate.
    Mean,
    /// The best of three means.
    Best,
}

impl Statistic {
    /// All statistics, the most reliable first.
    pub(crate) const ALL: [Self; 3] = [Self::Median, Self::Mean, Self::Best];

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Mean => "mean",
            Self::Best => "best of three means",
        }
    }
}

/// The statistics that a tool printed in one turn; few tools print all of them.
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
    /// Further results, as text for the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<String>,
}

impl Figure {
    /// Returns a figure that has only a mean or a rate.
    pub(crate) fn from_mean(mean: f64) -> Self {
        Self { mean: Some(mean), ..Self::default() }
    }

    /// Returns the value of `statistic`, if the tool printed it.
    pub(crate) fn number(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Median => self.median,
            Statistic::Mean => self.mean,
            Statistic::Best => self.best,
        }
    }
}

/// A tool's turns, one for each round.
#[derive(Serialize)]
pub(crate) struct Entry {
    /// The tool.
    pub(crate) tool: &'static str,
    /// The figures of each turn; `None` if the turn failed.
    pub(crate) turns: Vec<Option<Figure>>,
    /// The error of the first turn that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
}

impl Entry {
    /// Returns the most reliable statistic that all turns have, and its spread over them.
    pub(crate) fn spread(&self) -> Option<(Statistic, Spread)> {
        let statistic = self.tells().next()?;
        let figures = self.turns.iter().flatten();
        let numbers = figures.filter_map(|figure| figure.number(statistic)).collect();
        Some((statistic, Spread::from_values(numbers)?))
    }

    /// Returns the spread of this tool's figures divided by those of `other`. Each quotient is of
    /// one round, since disturbances hit both tools of a round alike. The statistic is the most
    /// reliable one that both tools have.
    pub(crate) fn ratio(&self, other: &Self) -> Option<(Statistic, Spread)> {
        let statistic = self.tells().find(|own| other.tells().any(|theirs| theirs == *own))?;
        let number = |turn: &Option<Figure>| turn.as_ref()?.number(statistic);
        let rounds = self.turns.iter().zip(&other.turns);
        let ratios = rounds.filter_map(|(own, other)| Some(number(own)? / number(other)?));
        Some((statistic, Spread::from_values(ratios.collect())?))
    }

    /// Returns the further results of the turn whose figure is nearest to the median.
    pub(crate) fn beside(&self) -> Option<&str> {
        let (statistic, spread) = self.spread()?;
        let away = |figure: &&Figure| {
            figure.number(statistic).map_or(f64::INFINITY, |it| (it - spread.median).abs())
        };
        let figures = self.turns.iter().flatten();
        figures.min_by(|a, b| away(a).total_cmp(&away(b)))?.beside.as_deref()
    }

    /// Returns the statistics that all successful turns have, the most reliable first.
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
