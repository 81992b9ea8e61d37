//! What a tool found in one turn, and what all turns come to.

use serde::Serialize;

use super::super::result::Spread;

/// What a tool found in one turn. Not every tool tells the median, and none of them all else.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// The mean, or a rate.
    pub(crate) mean: f64,
    /// The median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) median: Option<f64>,
    /// What else it tells, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<String>,
}

impl Figure {
    /// A mean without a median.
    pub(crate) fn of(mean: f64) -> Self {
        Self { mean, ..Self::default() }
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
    /// Whether its medians are told, in all turns that it has.
    pub(crate) fn has_medians(&self) -> bool {
        self.turns.iter().flatten().all(|figure| figure.median.is_some())
    }

    /// Over all turns: of medians, if they are told.
    pub(crate) fn spread(&self) -> Option<Spread> {
        let figures = self.turns.iter().flatten();
        Spread::of(figures.map(|figure| value(figure, self.has_medians())).collect())
    }

    /// This tool's figures as multiples of the `other`'s in the same round: both met the same
    /// mishaps. Compared is what both tell: medians, or else means.
    pub(crate) fn ratio(&self, other: &Self) -> Option<Spread> {
        let medians = self.has_medians() && other.has_medians();
        let rounds = self.turns.iter().zip(&other.turns);
        let both = rounds.filter_map(|(own, other)| Some((own.as_ref()?, other.as_ref()?)));
        Spread::of(both.map(|(own, other)| value(own, medians) / value(other, medians)).collect())
    }

    /// What was told beside the figure of the middle turn.
    pub(crate) fn beside(&self) -> Option<&str> {
        let middle = self.spread()?.median;
        let away = |figure: &&Figure| (value(figure, self.has_medians()) - middle).abs();
        let figures = self.turns.iter().flatten();
        figures.min_by(|a, b| away(a).total_cmp(&away(b)))?.beside.as_deref()
    }
}

fn value(figure: &Figure, median: bool) -> f64 {
    figure.median.filter(|_| median).unwrap_or(figure.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(turns: &[Option<(f64, Option<f64>)>]) -> Entry {
        let figure = |&(mean, median): &(f64, Option<f64>)| Figure { mean, median, beside: None };
        let turns = turns.iter().map(|turn| turn.as_ref().map(figure)).collect();
        Entry { tool: "tool", turns, failed: None }
    }

    #[test]
    fn like_is_compared_with_like() {
        let ours = entry(&[Some((6.0, Some(4.0))), Some((12.0, Some(8.0)))]);
        let mean_only = entry(&[Some((3.0, None)), Some((6.0, None))]);
        assert_eq!(ours.ratio(&mean_only).unwrap().median, 2.0);
        let both = entry(&[Some((1.0, Some(2.0))), Some((1.0, Some(4.0)))]);
        assert_eq!(ours.ratio(&both).unwrap().median, 2.0);
        assert_eq!(both.spread().unwrap().max, 4.0);
        assert_eq!(mean_only.spread().unwrap().max, 6.0);
    }

    #[test]
    fn only_rounds_that_both_have_count() {
        let ours = entry(&[Some((1.0, None)), None, Some((3.0, None))]);
        let theirs = entry(&[None, Some((5.0, None)), Some((1.5, None))]);
        let ratio = ours.ratio(&theirs).unwrap();
        assert_eq!((ratio.median, ratio.min, ratio.max), (2.0, 2.0, 2.0));
        assert_eq!(entry(&[None]).ratio(&ours), None);
    }
}
