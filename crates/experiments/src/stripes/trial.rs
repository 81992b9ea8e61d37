//! The copies in the lab, and their explanation.

use std::fs;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_state::traces::{self, Traced};
use garland_terminal::failure::{Exit, Failure, OrFailure};

use super::answer::{Answer, Explained, PausedCopy, Report};
use super::job::Stripes;
use super::maker::Pause;
use super::sizes::Sizes;
use super::table::Row;
use super::varied::Varied;
use crate::scenario_lab::{Copied, ScenarioLab};

/// The name of the copied file on the server.
const NAME: &str = "copy";
/// The name of the file's only stripe.
const STRIPE: &str = "copy.stripe-1of1";

/// The number of further copies without pauses, for the medians of undisturbed times.
const MORE: usize = 4;

/// The copies and reports of the experiment, in one lab.
pub struct Trial<'a> {
    pub experiment: &'a Stripes,
    pub lab: &'a ScenarioLab<'a>,
    pub source: PathBuf,
    pub sizes: Sizes,
    /// Simulated seconds of the file's bytes.
    pub bytes_s: f64,
}

/// The row of a copy, and the name of its run.
pub struct StripedCopy {
    pub row: Row,
    run: String,
}

impl Trial<'_> {
    /// Returns the seconds of starting: those of a copy of the file `nothing`, which has one byte.
    pub fn start_s(&self, nothing: &Path) -> Result<f64, Failure> {
        Ok(self.copy(nothing, false, &[])?.whole_ns as f64 / 1e9)
    }

    /// Makes four copies: in operations and without them, each without pauses and with those of the
    /// suspects. Starting takes `start_s`.
    pub fn copies(&self, start_s: f64) -> Result<Vec<StripedCopy>, Failure> {
        let mut copies = Vec::new();
        for paused in [false, true] {
            for held in [true, false] {
                let suspects = self.experiment.job.suspects.iter().filter(|_| paused);
                copies.push(self.measure(held, &suspects.collect::<Vec<_>>(), start_s)?);
            }
        }
        Ok(copies)
    }

    /// Returns the answers about each maker with each length of pause, and about all suspects'
    /// pauses together. `copies` are those of [`Trial::copies`].
    pub fn answers(&self, copies: &[StripedCopy]) -> Result<Vec<Answer>, Failure> {
        let healthy = copies.iter().find(|copy| copy.row.held && !copy.row.paused);
        let healthy = healthy.ok_or_else(|| Failure::nothing("no copy was made without pauses"))?;
        let mut bases = vec![self.explain(&healthy.run)?];
        for _ in 0..MORE {
            bases.push(self.explain(&self.copy(&self.source, true, &[])?.run)?);
        }
        let mut answers = Vec::new();
        for &maker in &self.experiment.job.makers {
            for pause in &self.experiment.job.pauses {
                let pause = Pause { maker, pause: pause.clone() };
                answers.extend(self.answer(&[&pause], &bases)?);
            }
        }
        let suspects: Vec<&Pause> = self.experiment.job.suspects.iter().collect();
        answers.extend(self.answer(&suspects, &bases)?);
        Ok(answers)
    }

    /// Makes the varied copies, each with the suspects' pauses. Starting takes `start_s`.
    pub fn varied(&self, start_s: f64) -> Result<Vec<Varied>, Failure> {
        let job = &self.experiment.job;
        let mut varied = Vec::new();
        for variation in &job.varied {
            let sizes = variation.sizes(self.sizes)?;
            let pauses = job.suspects.iter();
            let pauses: Vec<Pause> = pauses
                .map(|pause| variation.pause(pause, sizes, self.sizes.operation))
                .collect::<Result<_, _>>()?;
            let trial = Trial { source: self.source.clone(), sizes, ..*self };
            let row = trial.measure(true, &pauses.iter().collect::<Vec<_>>(), start_s)?.row;
            let Row { predicted_s, whole_s, busy, equal, .. } = row;
            let grows = variation.grows;
            varied.push(Varied { sizes, grows, predicted_s, whole_s, busy, equal });
        }
        Ok(varied)
    }

    /// Makes a copy with `pauses`, and returns the answers about them.
    fn answer(&self, pauses: &[&Pause], bases: &[Explained]) -> Result<Vec<Answer>, Failure> {
        let (copied, busy) = self.lab.watch(|| self.copy(&self.source, true, pauses))?;
        let explained = self.explain(&copied.run)?;
        let answer = |pause: &&Pause| {
            let put_in_ns = self.put_in_ns(pause)?;
            let paused = PausedCopy { pause, put_in_ns, together: pauses.len() > 1, busy };
            Ok(Answer::new(&paused, &self.server(), &explained, bases))
        };
        pauses.iter().map(answer).collect()
    }

    /// Predicts a copy of the whole file, and makes it. Starting takes `start_s`.
    fn measure(&self, held: bool, pauses: &[&Pause], start_s: f64) -> Result<StripedCopy, Failure> {
        let mut before_s = 0.0;
        let mut after_s = 0.0;
        for pause in pauses {
            let waits_s = if pause.maker.is_the_clients() { &mut before_s } else { &mut after_s };
            *waits_s += pause.seconds()?;
        }
        // Without operations, the file is one of them: pauses overlap with the stream, except for
        // one of each maker, at its start or its end.
        let whole = Sizes { operation: self.sizes.length, ..self.sizes };
        let sizes = if held { self.sizes } else { whole };
        let predicted_s = start_s + sizes.seconds(self.bytes_s, before_s, after_s);
        let (copied, busy) = self.lab.watch(|| self.copy(&self.source, held, pauses))?;
        let equal = self.lab.verify(&self.experiment.job.to, STRIPE, &self.source)?;
        let whole_s = copied.whole_ns as f64 / 1e9;
        let stream_s = copied.stream_ns as f64 / 1e9;
        let paused = !pauses.is_empty();
        let row = Row { held, paused, predicted_s, whole_s, stream_s, busy, equal };
        Ok(StripedCopy { row, run: copied.run })
    }

    /// Copies `source` once with `pauses`, in operations if `held`.
    fn copy(&self, source: &Path, held: bool, pauses: &[&Pause]) -> Result<Copied, Failure> {
        self.lab.go_on()?;
        let Sizes { buffer, operation, overlap, .. } = self.sizes;
        let faults: Vec<String> =
            pauses.iter().map(|pause| pause.fault(self.sizes, &self.server())).collect();
        let mode = if held { "in operations" } else { "without operations" };
        garland_terminal::errln!(
            "{mode}{} ...",
            faults.iter().map(|fault| format!(", {fault}")).collect::<String>()
        );
        let stripe = format!("--stripe={buffer}");
        let buffer = buffer.to_string();
        let source = source.to_string_lossy();
        let operation = operation.to_string();
        let overlap = overlap.to_string();
        let target = format!("{}:/{NAME}", self.server());
        let mut words = vec![&*stripe, "--buffer-size", &buffer, "--no-fsync"];
        if held {
            words.extend(["--op-size", &operation, "--op-overlap", &overlap]);
        }
        words.extend(faults.iter().flat_map(|fault| ["--inject", fault]));
        words.extend([&*source, &target]);
        self.lab.copy(&words)
    }

    /// Runs `garland explain` for the copy `run`, and once more after the server's trace was
    /// removed: there was none in 2007.
    fn explain(&self, run: &str) -> Result<Explained, Failure> {
        let ask = || self.lab.ask_tolerating::<Report>(&[Exit::SomeFailed], &["explain", run]);
        let whole = ask()?;
        let kept = Traced::find(&self.lab.places()?, run, None)?;
        for path in kept.files()? {
            let content = traces::read(&path);
            let (trace, _) =
                content.or_nothing(format!("cannot read the trace {}", printable::path(&path)))?;
            let of_server = trace.origin.node == self.server();
            if of_server {
                fs::remove_file(&path)
                    .or_nothing(format!("cannot remove {}", printable::path(&path)))?;
            }
        }
        Ok(Explained { whole, half: ask()? })
    }

    /// Returns the server's name in commands and results.
    fn server(&self) -> String {
        format!("lab:{}", self.experiment.job.to)
    }

    fn put_in_ns(&self, pause: &Pause) -> Result<u64, Failure> {
        pause.put_in_ns(self.sizes, &self.server())
    }
}
