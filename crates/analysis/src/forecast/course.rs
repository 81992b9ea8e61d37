//! The forecast: from points to a curve with intervals, and notes about its quality.

use serde::Serialize;

use super::candidates::Candidates;
use super::cost::Cost;
use super::curve::{Curve, Fit};
use super::held_out::{BackTest, run_back_test};
use super::knee::{Knee, knee};
use super::points::{MOST_NODES, Points};
use super::resample::resampled_spread;
use super::{Law, Question, Refusal, Work};

/// The forecast for one number of nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct At {
    /// The number of nodes.
    pub nodes: u32,
    /// The predicted time in seconds.
    pub seconds: f64,
    /// The 90 % prediction interval in seconds; `None` if there are too few points to know the
    /// errors.
    pub interval: Option<(f64, f64)>,
    /// The power as a multiple of one node's power; equal to the number of nodes if nothing is
    /// lost.
    pub power: f64,
    /// The time by Amdahl's law, in seconds; `None` if the law could not be fitted.
    pub amdahl: Option<f64>,
    /// The time by the Universal Scalability Law, in seconds; `None` if the law could not be
    /// fitted.
    pub usl: Option<f64>,
    /// The cost of the nodes; `None` without valid prices.
    pub cost: Option<Cost>,
}

/// The result of a forecast.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// For each requested number of nodes, in ascending order, the forecast.
    pub curve: Vec<At>,
    /// The law with the best fit.
    pub law: Law,
    /// The other laws that fit about as well.
    pub rivals: Vec<Law>,
    /// The root mean square of the law's relative errors at the points.
    pub miss: f64,
    /// The seconds of work that the nodes share or, for a copy to all nodes, that each node adds,
    /// by the law.
    pub work_seconds: f64,
    /// The seconds that do not depend on the number of nodes, by the law.
    pub fixed_seconds: f64,
    /// The number of nodes at which a resource saturates; `None` if none does.
    pub knee: Option<Knee>,
    /// The first requested number of nodes beyond which more nodes gain less than 5 %; `None` if
    /// there is none, or if it is close to the largest requested number.
    pub enough: Option<u32>,
    /// The fit of Amdahl's law; `None` if the points do not determine it.
    pub amdahl: Option<Fit>,
    /// The fit of the Universal Scalability Law; `None` if the points do not determine it.
    pub usl: Option<Fit>,
    /// The test of the forecast against the largest measured number of nodes; `None` if the other
    /// points are too few.
    pub back_test: Option<BackTest>,
    /// Reasons to doubt the forecast, as messages for the user.
    pub notes: Vec<String>,
}

/// The minimum half width of an interval, as a fraction of the time: measurements are not more
/// accurate.
const NARROWEST: f64 = 0.01;

/// The fraction of the time by which an interval widens in each direction for every doubling of the
/// nodes beyond the points: laws are simpler than clusters.
const DOUBLING: f64 = 0.05;

/// More nodes count as a gain only if they raise the power by at least this factor.
const MIN_GAIN: f64 = 1.05;

/// The maximum plausible speed-up between two points, as a multiple of the ratio of their node
/// counts.
const IMPLAUSIBLE: f64 = 1.1;

/// Returns the forecast for the node counts that `question` asks for.
///
/// # Errors
/// If the points do not support a forecast.
pub fn forecast(question: &Question<'_>) -> Result<Forecast, Refusal> {
    let work = &question.work;
    let points = Points::new(question.points, work)?;
    let ahead = asked(question.ahead)?;
    enough_points(work, &points)?;
    check_limits(work, &points)?;
    let candidates = Candidates::select(work, &points)?;
    let best = *candidates.best();
    let counts = with_neighbours(&ahead);
    let times = best.times(work, &counts);
    let spread = resampled_spread(&candidates, work, &points, &counts);
    let back_test = run_back_test(work, &points);
    let amdahl = Fit::compute(Curve::Amdahl, work, &points);
    let usl = Fit::compute(Curve::Usl, work, &points);
    let power = |place: usize| {
        let gain = times[0] / times[place];
        match work {
            Work::Fixed { .. } => gain,
            Work::Growing { .. } => gain * f64::from(counts[place]),
        }
    };
    let tested = back_test.map_or(0.0, |test| test.error.abs());
    let curve: Vec<At> = ahead
        .iter()
        .filter_map(|nodes| counts.binary_search(nodes).ok())
        .map(|place| {
            let nodes = counts[place];
            let seconds = times[place];
            // Beyond the measured numbers of nodes, expect at least the error of the back test.
            let margin = if nodes > points.most() { tested.max(NARROWEST) } else { NARROWEST };
            let interval = spread.as_ref().map(|spread| {
                let (low, high) = spread.times[place];
                let far = (f64::from(nodes) / f64::from(points.most())).log2().max(0.0);
                let doubt = (NARROWEST + DOUBLING * far).min(0.5);
                widened(low * (1.0 - doubt), high * (1.0 + doubt), seconds, margin)
            });
            let before = if nodes > 1 { power(place - 1) } else { 0.0 };
            let prices = question.prices.filter(super::Prices::are_sound);
            At {
                nodes,
                seconds,
                interval,
                power: power(place),
                amdahl: amdahl.map(|fit| fit.seconds(work, nodes)),
                usl: usl.map(|fit| fit.seconds(work, nodes)),
                cost: prices.map(|prices| prices.cost(nodes, power(place), before)),
            }
        })
        .collect();
    let fixed = spread.as_ref().map_or(0.0, |spread| spread.fixed.0);
    let most = ahead.last().copied().unwrap_or(1).max(points.most());
    let mut forecast = Forecast {
        enough: enough(&curve),
        curve,
        law: best.law,
        rivals: candidates.all.iter().skip(1).map(|rival| rival.law).collect(),
        miss: candidates.miss,
        work_seconds: best.slope,
        fixed_seconds: best.fixed,
        knee: knee(&best, work, fixed, most),
        amdahl,
        usl,
        back_test,
        notes: Vec::new(),
    };
    forecast.note(work, &points, spread.is_some());
    Ok(forecast)
}

/// Widens the interval from `low` to `high` so that it includes `seconds` plus and minus the
/// fraction `margin` of `seconds`.
fn widened(low: f64, high: f64, seconds: f64, margin: f64) -> (f64, f64) {
    (low.min(seconds * (1.0 - margin).max(0.0)), high.max(seconds * (1.0 + margin)))
}

/// Returns the sorted, distinct node counts of the question.
fn asked(ahead: &[u32]) -> Result<Vec<u32>, Refusal> {
    let mut ahead = ahead.to_vec();
    ahead.sort_unstable();
    ahead.dedup();
    match ahead.iter().find(|nodes| !(1..=MOST_NODES).contains(*nodes)) {
        Some(&nodes) => Err(Refusal::Ahead(nodes)),
        None => Ok(ahead),
    }
}

/// Returns, sorted, the node counts 1, all of `ahead`, and each of `ahead` minus 1. Powers and
/// costs are relative to these.
fn with_neighbours(ahead: &[u32]) -> Vec<u32> {
    let near = ahead.iter().flat_map(|&nodes| [nodes.saturating_sub(1).max(1), nodes]);
    let mut counts: Vec<u32> = std::iter::once(1).chain(near).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Checks that there are enough node counts: at least two, or three for fixed work without known
/// demands.
fn enough_points(work: &Work<'_>, points: &Points) -> Result<(), Refusal> {
    let known = match work {
        Work::Fixed { demands, .. } => !demands.is_empty(),
        Work::Growing { .. } => true,
    };
    match points.medians.as_slice() {
        [] => Err(Refusal::Nothing),
        [one] => Err(Refusal::OneCount { nodes: one.nodes }),
        [few, many] if !known => Err(Refusal::TwoCounts { few: few.nodes, many: many.nodes }),
        _ => Ok(()),
    }
}

/// A measured time may be as low as a limit times this factor, since given figures are rounded.
const ROUNDED: f64 = 0.95;

/// Checks that no point is faster than the known limits of the work allow.
fn check_limits(work: &Work<'_>, points: &Points) -> Result<(), Refusal> {
    for &point in &points.medians {
        let mut limits = match work {
            Work::Fixed { demands, .. } => {
                let sound = |seconds: f64| (0.0..1e12).contains(&seconds);
                if let Some(wrong) = demands.iter().find(|demand| !sound(demand.seconds)) {
                    let name = wrong.name.clone();
                    let seconds = wrong.seconds;
                    return Err(Refusal::NoDemand { name, seconds });
                }
                demands.iter().map(|demand| (demand.name.clone(), demand.seconds)).collect()
            }
            Work::Growing { floor, .. } => {
                let limit = floor(point.nodes);
                vec![(limit.name, limit.seconds)]
            }
        };
        limits.retain(|(_, seconds)| point.seconds < seconds * ROUNDED);
        if let Some((name, seconds)) = limits.pop() {
            return Err(Refusal::BelowLimit { point, name, seconds });
        }
    }
    Ok(())
}

/// Returns the first node count beyond which more nodes gain almost nothing; `None` if it is close
/// to the end of the curve.
fn enough(curve: &[At]) -> Option<u32> {
    let most = curve.iter().map(|at| at.power).fold(0.0, f64::max);
    let first = curve.iter().find(|at| at.power * MIN_GAIN >= most)?;
    let last = curve.last()?;
    // The curve beyond the last node count is unknown.
    (f64::from(first.nodes) * 1.2 < f64::from(last.nodes)).then_some(first.nodes)
}

impl Forecast {
    /// Widens the interval at `nodes`, if there is one, so that it includes `seconds` and its
    /// error. `seconds` is the prediction of another method, and `miss` the relative error of that
    /// method. Both methods are sound, and differ in what they neglect.
    pub fn hold(&mut self, nodes: u32, seconds: f64, miss: f64) {
        let Some(at) = self.curve.iter_mut().find(|at| at.nodes == nodes) else { return };
        let margin = miss.abs().max(NARROWEST);
        at.interval = at.interval.map(|(low, high)| widened(low, high, seconds, margin));
    }

    fn note(&mut self, work: &Work<'_>, points: &Points, has_interval: bool) {
        if !has_interval {
            self.notes.push(format!(
                "the law has as many parameters as there are points ({}), so its error is unknown: \
                 measure more node counts, or repeat some of them",
                points.all.len()
            ));
        }
        if points.counts() < 4 {
            let counts = points.counts();
            self.notes
                .push(format!("only {counts} node counts were measured: measure at least four"));
        }
        if let Some(test) = self.back_test.filter(|test| test.error.abs() > 0.1) {
            self.notes.push(format!(
                "predicted from the other points, the time at {1} nodes is {0:.0} % off: do not rely on \
                 this forecast",
                test.error.abs() * 100.0,
                test.nodes
            ));
        }
        let first = points.medians[0];
        let implausible = points.medians.iter().find(|point| {
            let more = f64::from(point.nodes) / f64::from(first.nodes);
            first.seconds / point.seconds > more * IMPLAUSIBLE
        });
        if let (Some(point), Work::Fixed { .. }) = (implausible, work) {
            self.notes.push(format!(
                "{} nodes were more than {} times as fast as {}: something other than nodes differed, such as a warm cache",
                point.nodes,
                point.nodes / first.nodes,
                first.nodes
            ));
        }
        if self.usl.is_some_and(|fit| fit.coherency.error.is_none() && !fit.held) {
            self.notes.push(
                "the USL has as many parameters as there are node counts, so a good fit is no evidence"
                    .to_owned(),
            );
        }
        if self.knee.is_none() && matches!(work, Work::Fixed { .. }) {
            self.notes.push(
                "the points show no limit, and none was given (--limit): the forecast cannot show where \
                 more nodes stop helping"
                    .to_owned(),
            );
        }
    }
}
