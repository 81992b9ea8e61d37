//! A copy and what befalls it, judged. Of a trial that fails, the blows that the failure does not
//! need are left out, and the rest is told as a story.

use std::cell::Cell;
use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::Duration;

use garland_protocol::copy::Verdict;

use crate::fate::{self, Blow, Fate};
use crate::room::{Case, Ended, Event};

thread_local! {
    /// Whether panics of this thread are not printed: they are part of a search.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// A copy and what befalls it.
#[derive(Clone, Debug)]
pub struct Trial {
    pub case: Case,
    pub fate: Fate,
}

/// Why a trial fails, and what happened until then.
struct Failure {
    reason: String,
    events: Vec<Event>,
}

impl Trial {
    /// Returns a copy that nothing befalls.
    pub fn quiet(case: &Case) -> Self {
        Self { case: case.clone(), fate: Fate::new() }
    }

    /// Returns a copy that one thing befalls, at this time after its beginning.
    pub fn new(case: &Case, at: Duration, blow: Blow) -> Self {
        Self { case: case.clone(), fate: vec![(at, blow)] }
    }

    /// Runs the copy and returns its end, which `judge` has accepted.
    ///
    /// # Panics
    /// When the copy hangs or panics, or `judge` panics. The message tells the shortest story that
    /// was found.
    pub fn check(&self, judge: impl Fn(&Self, &Ended)) -> Ended {
        match self.run(&judge) {
            Ok(ended) => ended,
            Err(failure) => panic!("{}", self.story(failure, &judge)),
        }
    }

    fn run(&self, judge: &impl Fn(&Self, &Ended)) -> Result<Ended, Failure> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let hook = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !IS_QUIET.get() {
                    hook(info);
                }
            }));
        });
        let fate = self.fate.clone();
        let log = crate::room::Log::default();
        let its = log.clone();
        IS_QUIET.set(true);
        let judged = panic::catch_unwind(AssertUnwindSafe(|| {
            let ended = self.case.run_with(its, move |cast| fate::strike(&fate, cast));
            judge(self, &ended);
            ended
        }));
        IS_QUIET.set(false);
        judged.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
            Failure { reason: text.unwrap_or_default(), events: log.take() }
        })
    }

    /// Leaves out what the failure does not need, and tells the rest.
    fn story(&self, failure: Failure, judge: &impl Fn(&Self, &Ended)) -> String {
        let (trial, failure) = self.shrink(failure, judge);
        let mut lines: Vec<(Duration, String)> =
            trial.fate.iter().map(|(at, blow)| (*at, blow.to_string())).collect();
        lines.extend(failure.events.into_iter().map(|event| (event.at, event.text)));
        lines.sort_by_key(|(at, _)| *at);
        let seed = self.case.seed;
        let mut story = format!("seed {seed}: {}\n", failure.reason);
        let _ = writeln!(story, "{} (GARLAND_SIM_SEEDS={seed}+1)", trial.case);
        for (at, line) in lines {
            let _ = writeln!(story, "{:>10.1} ms  {line}", at.as_secs_f64() * 1e3);
        }
        let left_out = self.fate.len() - trial.fate.len();
        if left_out > 0 {
            let _ = writeln!(story, "It fails without {left_out} other blows, too.");
        }
        story
    }

    /// Returns the trial without the blows that its failure does not need, and how that fails.
    fn shrink(&self, failure: Failure, judge: &impl Fn(&Self, &Ended)) -> (Self, Failure) {
        let mut smallest = (self.clone(), failure);
        for at in (0..self.fate.len()).rev() {
            let mut trial = smallest.0.clone();
            trial.fate.remove(at);
            if let Err(failure) = trial.run(judge) {
                smallest = (trial, failure);
            }
        }
        smallest
    }
}

/// Returns the verdict of a node.
pub fn verdict(ended: &Ended, node: usize) -> &Verdict {
    &ended.outcome.as_ref().expect("the head lives").nodes[node].verdict
}

#[test]
#[should_panic(expected = "n2 is lost")]
fn a_failure_is_a_panic_with_its_reason() {
    broken().check(|_, ended| assert!(*verdict(ended, 1) == Verdict::Ok, "n2 is lost"));
}

#[test]
fn a_seed_that_fails_shrinks_to_a_short_story() {
    let judge = |_: &Trial, ended: &Ended| {
        assert!(*verdict(ended, 1) == Verdict::Ok, "n2 is lost");
    };
    let trial = broken();
    let Err(failure) = trial.run(&judge) else { panic!("n2 was killed") };
    let story = trial.story(failure, &judge);
    let lines: Vec<&str> = story.lines().collect();
    assert_eq!(lines[0], "seed 7: n2 is lost");
    assert!(lines[1].starts_with("a file of 900000 bytes goes to 3 nodes"), "{story}");
    assert!(story.contains("12.0 ms  the agent of n2 is killed"), "{story}");
    assert!(story.contains("the head: n2 is dead"), "{story}");
    assert!(story.contains("the head: n1 is committed"), "{story}");
    assert!(!story.contains("stands still") && !story.contains("break"), "{story}");
    assert_eq!(lines.last(), Some(&"It fails without 2 other blows, too."));
}

/// Returns a copy that loses n2, with blows that don't matter.
fn broken() -> Trial {
    let case = Case::of_file(7, 3, 900_000);
    let ms = Duration::from_millis;
    let fate = vec![
        (ms(11), Blow::Pause(2, ms(300))),
        (ms(12), Blow::Kill(1)),
        (ms(15), Blow::Break(0, 1)),
    ];
    Trial { case, fate }
}
