//! Measures what accused parts do to a copy: whether pairs between two groups share one wire, and how fast a
//! stream is that loses segments.

use garland_analysis::pairs::{Accusation, Component, MatchUp, Tolerance, accuse};
use garland_protocol::operation::wires::{AtOnce, Rail, streams};
use garland_terminal::failure::Failure;

use super::Survey;

/// The maximum number of pairs at once between two groups.
const PAIRS: usize = 4;

/// The maximum number of parts that lose segments, the worst first, for which a stream of a second is measured.
const LOSSY: usize = 8;

impl Survey<'_> {
    /// Measures the parts of the current rail that are accused.
    pub(super) fn prove(&mut self) -> Result<(), Failure> {
        for Accusation { part, .. } in accuse(&self.rail().rates(), &Tolerance::RATES) {
            let pairs = disjoint(&part);
            if pairs.len() < 2 {
                continue;
            }
            let got = self.meet(&pairs, 1, &streams(1, 60, 300, 300))?;
            let rates: Vec<f64> = got.into_iter().flatten().map(|got| got.forward).collect();
            let across = AtOnce { pairs: rates.len(), rate: rates.iter().sum() };
            self.rail().across.insert(part, across);
        }
        let lossy = accuse(&self.rail().losses(), &Tolerance::LOSSES).into_iter().take(LOSSY);
        for Accusation { part, .. } in lossy {
            let Some(pair) = worst(self.rail(), &part) else { continue };
            let got = self.meet(&[pair], 1, &streams(1, 60, 1000, 1000))?;
            if let Some(got) = got.into_iter().flatten().next() {
                self.rail().sustained.insert(part, got.forward);
            }
        }
        Ok(())
    }
}

/// Returns some pairs that the link between two groups carries and that have no common node; empty for
/// another part.
fn disjoint(part: &Component) -> Vec<MatchUp> {
    match part {
        Component::Between(one, other) | Component::Across(one, other) => {
            let pairs = one.iter().zip(other.iter()).take(PAIRS);
            pairs.map(|(&one, &other)| MatchUp::new(one, other)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the direction of a part that loses the largest fraction of its segments, as a pair that
/// sends from `one` to `other`.
fn worst(rail: &Rail, part: &Component) -> Option<MatchUp> {
    let losses = rail.losses();
    let carried = losses.measured().filter(|(from, to, _)| part.carries(*from, *to));
    carried.min_by(|a, b| a.2.total_cmp(&b.2)).map(|(from, to, _)| MatchUp::new(from, to))
}
