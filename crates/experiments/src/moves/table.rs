//! The table of moving jobs: what each treatment takes.

use std::fmt::{self, Formatter};

use garland_analysis::grade::Sample;
use garland_farm::result::took;
use serde::Serialize;

use super::job::Moves;
use crate::claim::Claim;
use crate::predicted::Prediction;
use crate::scenario_lab::Busy;
use crate::table;

/// The table: a row for each treatment.
pub type Table = table::Table<Moves, Row>;

/// What becomes of the jobs of a node that gets slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Treatment {
    /// They stay.
    Stay,
    /// They start over on another node.
    Restart,
    /// They go on from their checkpoints on another node.
    Migrate,
}

impl Treatment {
    /// All treatments, in the table's order.
    pub const ALL: [Self; 3] = [Self::Stay, Self::Restart, Self::Migrate];

    /// Returns the treatment in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Stay => "stay",
            Self::Restart => "start over elsewhere",
            Self::Migrate => "go on elsewhere",
        }
    }

    /// Returns the options of `garland farm run` for it.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::Stay => &[],
            Self::Restart | Self::Migrate => &["--migrate"],
        }
    }
}

/// The time of all jobs with one treatment.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What became of the jobs of the slow node.
    pub treatment: Treatment,
    /// Seconds until the last job was done.
    pub seconds: f64,
    /// How often a running job was moved.
    pub moves: usize,
    /// The seconds of processor time that the moved jobs had used before.
    pub moved_cpu_s: f64,
    /// The share of this machine's processor time that was in use meanwhile.
    pub busy: Busy,
    /// Whether every job did all of its work.
    pub whole: bool,
    /// The run's name.
    pub run: String,
}

impl Table {
    /// Returns no predictions: the time of a shell loop cannot be predicted.
    pub fn predictions(&self) -> Vec<Prediction> {
        Vec::new()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the claims that moving is worth it, and that it is worth more with a checkpoint.
    pub fn claims(&self) -> Vec<Claim> {
        let row = |treatment: Treatment| self.rows.iter().find(|row| row.treatment == treatment);
        let claim = |one: Treatment, other: Treatment| {
            let what = format!("jobs of a slow node {} over {}", one.words(), other.words());
            let sample = row(one).zip(row(other)).map_or_else(Sample::none, |(one, other)| {
                let lags = one.busy.lags() || other.busy.lags();
                Sample::new(one.seconds / other.seconds).voided(lags)
            });
            Claim::quotient(what, sample)
        };
        let moved = row(Treatment::Migrate)
            .map_or_else(Sample::none, |row| Sample::new(row.moves as f64).voided(row.busy.lags()));
        vec![
            Claim::measured("jobs that moved while they ran", "jobs", moved),
            claim(Treatment::Restart, Treatment::Stay),
            claim(Treatment::Migrate, Treatment::Stay),
            claim(Treatment::Migrate, Treatment::Restart),
        ]
    }

    /// Describes the first treatment with which jobs did not do all of their work; `None` if there
    /// is none.
    pub fn broken(&self) -> Option<String> {
        let row = self.rows.iter().find(|row| !row.whole)?;
        Some(format!("jobs {}: not all did all of their work", row.treatment.words()))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let job = &self.experiment.job;
        writeln!(
            f,
            "emulated: {} equal jobs on {} nodes, of which {} gets {} more busy processes after {}\n",
            job.jobs,
            job.nodes.len(),
            job.slow,
            job.busy,
            job.after
        )?;
        writeln!(
            f,
            "{:<26}{:>10}{:>10}{:>24}",
            "jobs of the slow node", "time", "moves", "CPU they had used"
        )?;
        for Row { treatment, seconds, moves, moved_cpu_s, .. } in &self.rows {
            let time = took(*seconds);
            let used = took(*moved_cpu_s);
            writeln!(f, "{:<26}{time:>10}{moves:>10}{used:>24}", treatment.words())?;
        }
        if let Some(stay) = self.rows.iter().find(|row| row.treatment == Treatment::Stay) {
            for row in self.rows.iter().filter(|row| row.treatment != Treatment::Stay) {
                let saved = stay.seconds - row.seconds;
                let percent = saved / stay.seconds * 100.0;
                let treatment = row.treatment.words();
                writeln!(
                    f,
                    "to {treatment} saves {saved:.1} of {:.1} s ({percent:.0} %)",
                    stay.seconds
                )?;
            }
        }
        Ok(())
    }
}
