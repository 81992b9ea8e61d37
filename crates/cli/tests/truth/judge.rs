//! Judges an explanation by what is known of its run.

use std::fmt;

use crate::answer::{Answer, Gain};
use crate::case::Case;
use crate::fault::Fault;
use crate::scene::{Observed, Observer};

/// A copy with faults had no effect if it took less than this more than the copy without.
const EFFECTIVE: f64 = 0.1;

/// Of two faults, each may be named first whose removal gains at least this fraction of the other's
/// gain.
const EQUAL: f64 = 0.7;

/// A healthy copy below this fraction of the wires' rate shows that this machine was too busy.
const QUIET: f64 = 0.6;

/// The seconds that a copy takes besides the time of its bytes.
const OVERHEAD_S: f64 = 0.5;

/// A promised gain is right if it differs from the measured one by at most this fraction of it.
const CLOSE: f64 = 0.25;

/// What is known of a run, and what was said of it.
pub struct Judged {
    case: Case,
    all: Observed,
    healthy: Observed,
    /// For each fault of the case, the seconds by which the copy without it is faster.
    gains_s: Vec<f64>,
}

/// The judgement of a first answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Hit,
    Miss,
    /// The faults had no effect.
    Ineffective,
    /// This machine was too busy.
    Void,
}

impl Judged {
    /// Makes the copies of a case: with all faults, without any, and without each one of several.
    pub fn run_case(observer: &Observer, case: &Case) -> Self {
        let healthy = observer.observe(&case.with(&[]), "healthy");
        let all = observer.observe(case, "all");
        let wall_s = all.explanation.wall_s;
        let gain = |(at, fault): (usize, &Fault)| {
            let others: Vec<Fault> =
                case.faults.iter().filter(|it| *it != fault).copied().collect();
            match others.is_empty() {
                true => wall_s - healthy.explanation.wall_s,
                false => {
                    let without = observer.observe(&case.with(&others), &format!("without{at}"));
                    wall_s - without.explanation.wall_s
                }
            }
        };
        let gains_s = case.faults.iter().enumerate().map(gain).collect();
        Self { case: case.clone(), all, healthy, gains_s }
    }

    /// Returns the verdict on the first answer.
    pub fn verdict(&self) -> Verdict {
        let wall_s = self.all.explanation.wall_s;
        let healthy_s = self.healthy.explanation.wall_s;
        let named = self.all.explanation.faults.first();
        if healthy_s > self.case.least_s() / QUIET + OVERHEAD_S {
            Verdict::Void
        } else if wall_s < (1.0 + EFFECTIVE) * healthy_s {
            Verdict::Ineffective
        } else if named.is_some_and(|(answer, _)| self.true_gain(answer).is_some_and(|it| it.1)) {
            Verdict::Hit
        } else {
            Verdict::Miss
        }
    }

    /// Returns of the faults that an answer names the measured gain, and whether they may be named
    /// first; `None` if the answer names no fault of the case. A wire may be slow at both of its
    /// ends: without its faults none of two is left.
    fn true_gain(&self, answer: &Answer) -> Option<(f64, bool)> {
        let trunk = |from: u32, to: u32| self.case.crosses(from, to);
        let faults = self.case.faults.iter().zip(&self.gains_s);
        let named = faults.filter(|(fault, _)| fault.is_named(answer, trunk));
        let gain_s = match named.map(|(_, gain_s)| *gain_s).collect::<Vec<_>>()[..] {
            [] => return None,
            [gain_s] => gain_s,
            [..] => self.all.explanation.wall_s - self.healthy.explanation.wall_s,
        };
        let most = self.gains_s.iter().copied().fold(0.0, f64::max);
        Some((gain_s, gain_s >= EQUAL * most))
    }

    /// Returns the names of the case's kinds of faults.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.case.faults.iter().map(|fault| fault.kind.name()).collect()
    }

    /// Returns the named faults besides the first one that are none.
    pub fn companions(&self) -> usize {
        let others = self.all.explanation.faults.iter().skip(1);
        others.filter(|(answer, _)| self.true_gain(answer).is_none()).count()
    }

    /// Returns the faults that were named in the copy without any.
    pub fn false_faults(&self) -> usize {
        self.healthy.explanation.faults.len()
    }

    /// Whether this machine left the healthy copy its rate.
    pub fn is_quiet(&self) -> bool {
        self.verdict() != Verdict::Void
    }

    /// Returns the promised gain and the measured one in seconds, if the next step names a true
    /// fault.
    fn gain(&self) -> Option<(Gain, f64)> {
        let (answer, gain) = self.all.explanation.next.as_ref()?;
        Some((*gain, self.true_gain(answer)?.0))
    }

    /// Whether the promised gain is close to the measured one.
    pub fn is_gain_close(&self) -> bool {
        self.gain().is_some_and(|(said, true_s)| (said.value_s - true_s).abs() <= CLOSE * true_s)
    }

    /// Returns whether the interval of the gain holds the measured one, and its relative width.
    pub fn interval(&self) -> Option<(bool, f64)> {
        let (said, true_s) = self.gain()?;
        let (low, high) = said.interval_s?;
        Some(((low..=high).contains(&true_s), (high - low) / said.value_s.max(1e-9)))
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, all, healthy, .. } = self;
        let said = all.explanation.faults.iter();
        let said: Vec<String> =
            said.map(|(answer, share)| format!("{answer} {:.0} %", share * 100.0)).collect();
        let said = if said.is_empty() { "none".to_owned() } else { said.join(", ") };
        let next = all.explanation.next.as_ref();
        let next = next.map_or("none".to_owned(), |(answer, gain)| format!("{answer}: {gain}"));
        let gains: Vec<String> = self.gains_s.iter().map(|gain| format!("{gain:.2}")).collect();
        let wall_s = all.explanation.wall_s;
        let healthy_s = healthy.explanation.wall_s;
        write!(f, "{case}\n  {:?}: {wall_s:.2} s, healthy {healthy_s:.2} s", self.verdict())?;
        write!(f, " (idle {:.0} %, {:.0} %)", all.idle * 100.0, healthy.idle * 100.0)?;
        write!(f, "\n  said {said}; next {next}; measured {} s", gains.join(", "))?;
        if !all.notes.is_empty() {
            write!(f, "; {}", all.notes)?;
        }
        let false_faults = healthy.explanation.faults.iter();
        false_faults.into_iter().try_for_each(|(answer, share)| {
            write!(f, "\n  false in the healthy copy: {answer} {:.0} %", share * 100.0)
        })
    }
}
