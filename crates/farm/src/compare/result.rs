//! The result of a comparison, `garland.farm-compare/2`.

use garland_analysis::farm::{Candidate, Rank, Spread, Standing, rank};
use garland_results::head::Head;
use serde::Serialize;

use super::label::labels;
use crate::result::FarmResult;

/// The result object `garland.farm-compare/2`.
#[derive(Debug, Serialize)]
pub struct CompareResult {
    #[serde(flatten)]
    head: Head,
    /// Number of jobs, equal for all runs.
    pub jobs: usize,
    /// Label of the base run, whose time is 100 %.
    pub base: String,
    /// Name of the unit of all powers; none if the runs have different units.
    pub unit: Option<String>,
    /// The runs, in the order in which the user named them.
    pub runs: Vec<Row>,
    /// Label of the fastest run.
    pub fastest: String,
    /// Label of the run with the best price-performance ratio; none unless at least two runs have a
    /// price.
    pub cheapest: Option<String>,
}

/// A compared run.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The run's name.
    pub run: String,
    /// The properties that distinguish the run from the others.
    pub label: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Time from the start of the run to the end of the last job, in seconds.
    pub seconds: f64,
    /// The time as a multiple of the base run's time.
    pub of_base: f64,
    /// The slowest and the fastest job, by their numbers; none if no job has a known time.
    pub spread: Option<Spread>,
    /// The mean slowdown of the jobs done: the time from queueing to the end, divided by the time
    /// of the same work on the fastest node; none if unknown.
    pub slowdown: Option<f64>,
    /// The cluster compared with one machine; none if it cannot be compared.
    pub standing: Option<Standing>,
    /// Price of the cluster, if known.
    pub price: Option<f64>,
    /// The run's places by time and by price.
    #[serde(flatten)]
    pub rank: Rank,
}

impl CompareResult {
    /// Compares `runs` with the one at index `base`.
    pub fn new(head: Head, runs: &[FarmResult], base: usize) -> Self {
        let unit = runs.first().map(|run| run.summary.unit.clone());
        let unit = unit.filter(|unit| runs.iter().all(|run| run.summary.unit == *unit));
        let candidate = |run: &FarmResult| Candidate {
            seconds: run.summary.total,
            price: run.summary.price,
            equivalent: run
                .summary
                .standing
                .filter(|_| unit.is_some())
                .map(|standing| standing.equivalent),
        };
        let ranks = rank(&runs.iter().map(candidate).collect::<Vec<_>>());
        let shown = labels(runs);
        let whole = runs[base].summary.total;
        let rows: Vec<Row> = runs
            .iter()
            .zip(shown)
            .zip(ranks)
            .map(|((run, label), rank)| Row {
                run: run.run().to_owned(),
                label,
                nodes: run.nodes.len(),
                seconds: run.summary.total,
                of_base: if whole > 0.0 { run.summary.total / whole } else { 0.0 },
                spread: run.summary.spread,
                slowdown: run.summary.slowdown,
                standing: run.summary.standing,
                price: run.summary.price,
                rank,
            })
            .collect();
        let first = |of: fn(&Row) -> Option<usize>| {
            rows.iter().find(|row| of(row) == Some(1)).map(|row| row.label.clone())
        };
        let priced = rows.iter().filter(|row| row.rank.price_place.is_some()).count();
        Self {
            head,
            jobs: runs[base].summary.jobs.all,
            base: rows[base].label.clone(),
            unit,
            fastest: first(|row| Some(row.rank.place)).unwrap_or_default(),
            cheapest: first(|row| row.rank.price_place).filter(|_| priced > 1),
            runs: rows,
        }
    }
}
