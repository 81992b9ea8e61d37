//! Combines the results of several rails: a node that is slow on all of its NICs is at fault
//! itself, a node that is slow on only some has bad NICs there.

use super::accusation::Accusation;
use super::effects::Effects;

/// An accusation on one rail or on all.
#[derive(Clone, Debug, PartialEq)]
pub struct OnRails {
    /// The accused part, with its performance.
    pub accusation: Accusation,
    /// The rail; `None` if all rails are affected, or there is only one. A part that is accused on
    /// several rails, but not on all, has an entry for each of them.
    pub rail: Option<usize>,
}

/// Combines the accusations of each rail; worst first. A part that is accused on all rails gives
/// one accusation, with the means of the shares and bounds.
pub fn over_rails(rails: &[Vec<Accusation>]) -> Vec<OnRails> {
    let mut all: Vec<OnRails> = Vec::new();
    for (rail, accusations) in rails.iter().enumerate() {
        for accusation in accusations {
            let of_part = |others: &'_ Vec<Accusation>| {
                others.iter().find(|other| other.part == accusation.part).cloned()
            };
            let everywhere: Option<Vec<Accusation>> = rails.iter().map(of_part).collect();
            match everywhere {
                // Such a part is reported once, with the first rail.
                Some(_) if rail > 0 => {}
                Some(same) => all.push(OnRails { accusation: mean(&same), rail: None }),
                None => {
                    all.push(OnRails { accusation: accusation.clone(), rail: Some(rail) });
                }
            }
        }
    }
    all.sort_by(|a, b| a.accusation.share.total_cmp(&b.accusation.share));
    all
}

/// Returns the mean of one or more accusations of the same part.
fn mean(same: &[Accusation]) -> Accusation {
    let mean = |of: fn(&Accusation) -> f64| same.iter().map(of).sum::<f64>() / same.len() as f64;
    let share = mean(|one| one.share);
    let bound = mean(|one| one.bound);
    Accusation { part: same[0].part.clone(), share, bound }
}

/// The effect of a node on the rates of all its NICs, and the further effect of each NIC; in
/// logarithms, as in [`Effects`].
#[derive(Clone, Debug, PartialEq)]
pub struct NodeEffects {
    /// The effect of the node: the effect on its best NIC.
    pub node: f64,
    /// The further effect of each NIC, by rail: 0 for the best one, `None` if not measured.
    pub nics: Vec<Option<f64>>,
}

/// Splits the effect of a node, which `effect` returns for each rail; `None` if it was measured on
/// no rail.
pub fn node_effects(
    rails: &[Option<Effects>],
    effect: impl Fn(&Effects, usize) -> Option<f64>,
) -> Option<NodeEffects> {
    let on = rails.iter().enumerate();
    let effects: Vec<Option<f64>> =
        on.map(|(rail, fit)| fit.as_ref().and_then(|fit| effect(fit, rail))).collect();
    let node = effects.iter().copied().flatten().max_by(f64::total_cmp)?;
    let nics = effects.iter().map(|effect| effect.map(|effect| effect - node)).collect();
    Some(NodeEffects { node, nics })
}

#[cfg(test)]
mod tests {
    use super::super::{Component, Matrix, Tolerance, accuse};
    use super::*;

    /// Returns the accusations for twelve nodes on two rails, where the NICs (rail, node) for which
    /// `slow` is true have half the rate.
    fn found(slow: impl Fn(usize, usize) -> bool) -> Vec<(Component, Option<usize>)> {
        let rails: Vec<Vec<Accusation>> = (0..2)
            .map(|rail| {
                // The second rail is ten times as fast, and noise is ±1 %.
                let base = if rail == 0 { 1e7 } else { 1e8 };
                let noise =
                    |a: usize, b: usize| 1.0 + 0.01 * (((a * 7 + b * 5) % 5) as f64 - 2.0) / 2.0;
                let rate = |a, b| {
                    let share = if slow(rail, a) || slow(rail, b) { 0.5 } else { 1.0 };
                    Some(base * share * noise(a, b))
                };
                accuse(&Matrix::by(12, rate), &Tolerance::RATES)
            })
            .collect();
        let parts = over_rails(&rails).into_iter();
        parts.map(|found| (found.accusation.part, found.rail)).collect()
    }

    #[test]
    fn nodes_and_nics_are_told_apart() {
        assert_eq!(found(|_, _| false), []);
        assert_eq!(found(|_, node| node == 4), [(Component::Node(4), None)]);
        assert_eq!(found(|rail, node| (rail, node) == (1, 4)), [(Component::Node(4), Some(1))]);
        let both = found(|rail, node| node == 2 || (rail, node) == (0, 7));
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(
            both.contains(&(Component::Node(2), None))
                && both.contains(&(Component::Node(7), Some(0)))
        );
    }

    #[test]
    fn one_rail_alone_says_nothing_of_which() {
        let accusation = Accusation { part: Component::Node(1), share: 0.5, bound: 0.9 };
        let all = over_rails(&[vec![accusation.clone()]]);
        assert_eq!(all, [OnRails { accusation, rail: None }]);
        assert_eq!(over_rails(&[]), []);
    }

    #[test]
    fn what_all_nics_lose_is_the_nodes_and_the_rest_the_nics() {
        let fit = |send: f64| Some(Effects { base: 0.0, send: vec![send], receive: vec![0.0] });
        let parted =
            node_effects(&[fit(-0.7), fit(-0.2), None], |fit, _| Some(fit.send[0])).unwrap();
        assert!((parted.node + 0.2).abs() < 1e-12);
        assert!((parted.nics[0].unwrap() + 0.5).abs() < 1e-12);
        assert_eq!(parted.nics[1..], [Some(0.0), None]);
        assert_eq!(node_effects(&[None], |_, _| Some(0.0)), None);
    }
}
