//! A table in which everything came out as published, for tests of grades.

use garland_analysis::farm::{Power, spread, standing};
use garland_analysis::grade::{Condition, Grade, RUNS, Why};

use super::growth::Grown;
use super::job::{Farm, Growth, ONE, PublishedRow};
use super::row::{CopyRow, FaultRow, Row, Scaling};
use super::table::{Common, Table};
use crate::Experiment;
use crate::claim::Measure;
use crate::judged::Judged;
use crate::scaling::{Answer, At, CountRow, ScalingForecast};
use crate::scenario_lab::Busy;

/// Seconds of the publication in one second of the lab.
const SECONDS: f64 = 100.0;
/// The length of the copied file.
const BYTES: u64 = 334_455_320;

/// Returns a table of `own` with what `shape` published; no suspect was tried.
pub fn ideal(shape: &Farm, own: &Farm) -> Table {
    let rows = shape.published.iter().filter_map(|then| row(shape, then));
    let copies = shape.published.iter().filter(|then| then.load.is_none());
    let copies = copies.map(|then| CopyRow {
        topology: then.topology.clone(),
        predicted_s: 1.0,
        seconds: then.slowest.middle() / SECONDS,
        bound_s: 1.0,
        bytes: BYTES,
        busy: Busy::default(),
    });
    let scaling = Scaling::new(1.0, SECONDS);
    let common = Common {
        scaling,
        copies: copies.collect(),
        faults: Vec::new(),
        suspects: Vec::new(),
        growth: shape.job.growth.as_ref().map(|growth| grown(shape, growth)),
    };
    Table::new(own, common, rows.collect())
}

/// Returns powers of a tenth more than the least that was published, and forecasts that held.
fn grown(shape: &Farm, growth: &Growth) -> Grown {
    let published = shape.published(&growth.topology, Some(&growth.load));
    let row = |&nodes: &u32| {
        let least = published.and_then(|then| then.at_least.get(&nodes.to_string()));
        let power = least.map_or(f64::from(nodes), |least| least.middle() * 1.1 / 300.0);
        CountRow { nodes, seconds: 60.0 / power, busy: Busy::default(), run: String::new() }
    };
    let rows: Vec<CountRow> = growth.measured.iter().chain(&growth.forecast).map(row).collect();
    let at = |row: &CountRow| At {
        nodes: row.nodes,
        seconds: row.seconds * 0.9,
        interval: Some((0.0, 60.0)),
    };
    let forecast = Answer { curve: rows.iter().map(at).collect(), knee: None };
    let prediction = Some(ScalingForecast { forecast, simulated: Vec::new() });
    Grown { rows, prediction, equal: true }
}

fn row(shape: &Farm, then: &PublishedRow) -> Option<Row> {
    let load = then.load.clone()?;
    let one = shape.published(ONE, Some(&load))?.slowest.middle();
    let slowest = then.slowest.middle();
    let jobs = then.fastest.as_ref().map(|fastest| [slowest, fastest.middle()]);
    let worth = standing(one, slowest, Power { one: 300.0, all: 900.0 });
    Some(Row {
        topology: then.topology.clone(),
        load,
        seconds: slowest / SECONDS,
        spread: jobs.and_then(|jobs| spread(&jobs.map(|seconds| seconds / SECONDS))),
        equivalent: worth.map(|worth| worth.equivalent),
        difference: worth.map(|worth| worth.difference),
        // Three jobs of less than 14 minutes, and 790 KB/s.
        jobs_s: vec![8.0, 8.0, 8.0, 9.0],
        carried: [(790e3 * slowest) as u64, 1],
        equal: true,
        ..Row::default()
    })
}

fn own() -> Farm {
    let scenario = garland_topology::scenarios::text("openmosix-2004").unwrap();
    match Experiment::parse(scenario, "x.toml") {
        Ok(Experiment::Farm(farm)) => *farm,
        _ => panic!("no farm"),
    }
}

/// Returns the grade of a fact, or of what the experiment expects, if each repetition gave a table.
fn grade(farm: &Farm, table: &Table, name: &str) -> Grade {
    let measures = Measure::gather(&vec![table.claims(); RUNS]);
    let all = farm.account("openmosix-2004").judge(&measures);
    let is_it = |one: &Judged| one.fact.as_deref() == Some(name) || one.what == name;
    all.into_iter().find(is_it).and_then(|one| one.grade).unwrap()
}

#[test]
fn a_switch_with_a_fault_stands_beside_the_published_switch() {
    let farm = own();
    let graded = |source: Option<&str>, what: &str| {
        // The switch was as quick as the star, and as published with the fault.
        let mut table = ideal(&farm, &farm);
        let is_light = |row: &&mut Row| row.topology == "switch100" && row.load == "light";
        let row = table.rows.iter_mut().find(is_light).unwrap();
        let fault = Condition::new("a fault", source.map(str::to_owned));
        table.common.faults = vec![FaultRow { fault, row: row.clone() }];
        row.seconds = 1182.0 / SECONDS;
        row.equivalent = Some(820.0);
        assert!(table.to_string().contains("with a fault"));
        grade(&farm, &table, what)
    };
    for fact in [
        "om.light.switch.slowest",
        "om.light.switch.power",
        "om.light.switch.of.hub",
        "om.light.p2p.of.switch",
        "om.gain.switch",
    ] {
        let by = "a fault".to_owned();
        assert_eq!(graded(Some("a manual"), fact), Grade::Explained { by: by.clone() }, "{fact}");
        let open = graded(None, fact);
        let Grade::Differs { why: Why::Unsourced { condition }, .. } = open else {
            panic!("{fact}: {open}")
        };
        assert_eq!(condition, by);
    }
    // One PC's time is put in, so that what comes out follows from it.
    let star = graded(None, "om.light.p2p.slowest");
    assert!(matches!(star, Grade::Follows { off: Some(off), .. } if off.abs() < 1e-9), "{star}");
}

#[test]
fn a_fourth_pc_is_judged_by_what_was_tried_beside_its_forecast() {
    let farm = own();
    let power = "om.forecast.4";
    let follows = |grade: &Grade| matches!(grade, Grade::Follows { off: None, .. });
    let told = "light, p2p-star: time on 4 nodes is within its forecast's interval";
    let of = |power_of_four: f64| {
        let mut table = ideal(&farm, &farm);
        let grown = table.common.growth.as_mut().unwrap();
        grown.rows.last_mut().unwrap().seconds = 60.0 / (power_of_four / 300.0);
        table
    };
    assert!(follows(&grade(&farm, &of(1110.0), power)));
    assert!(follows(&grade(&farm, &of(1190.0), power)));
    let near = grade(&farm, &of(1095.0), power);
    assert!(
        matches!(near, Grade::Differs { why: Why::NoOrder, .. }),
        "the lab errs by 1 %: {near}"
    );
    // The forecast is as ever; only what was tried counts.
    let less = of(940.0);
    let graded = grade(&farm, &less, power);
    assert!(matches!(graded, Grade::Differs { why: Why::Less, .. }), "{graded}");
    assert_eq!(grade(&farm, &less, told), Grade::Reproduced);
    let text = less.to_string();
    let line = text.lines().find(|line| line.contains(">= 1095")).unwrap();
    assert!(line.trim_end().ends_with("940") && line.contains(" %"), "{line}");
    let predictions = less.predictions();
    assert_eq!(predictions.last().unwrap().what, "24 encodes, light, p2p-star, on 4 nodes");
    let mut wrong = of(1190.0);
    wrong.common.growth.as_mut().unwrap().equal = false;
    assert!(wrong.broken().is_some());
}

#[test]
fn jobs_move_as_processes_did_and_short_ones_are_counted() {
    let farm = own();
    assert!(farm.placed().any(|word| word == "--migrate"), "openMosix moved processes");
    let mut table = ideal(&farm, &farm);
    let is_light = |row: &&mut Row| row.topology == "switch100" && row.load == "light";
    let row = table.rows.iter_mut().find(is_light).unwrap();
    let found = "om.light.under14";
    // 13 minutes and 50 seconds are less than 14 minutes.
    row.jobs_s = vec![8.3, 8.3, 8.3, 8.5];
    assert!(grade(&farm, &table, found).holds());
    let row = table.rows.iter_mut().find(is_light).unwrap();
    row.jobs_s = vec![8.3, 8.5, 8.5, 8.5];
    assert!(matches!(grade(&farm, &table, found), Grade::Differs { .. }));
    // 780 KB/s of 2004 for 2368 s, with wires a hundred times as fast.
    let is_heavy = |row: &&mut Row| row.topology == "switch100" && row.load == "heavy";
    table.common.scaling = Scaling::new(1.0, SECONDS);
    let row = table.rows.iter_mut().find(is_heavy).unwrap();
    row.carried = [(780e3 * row.seconds * SECONDS) as u64, 1];
    assert!(grade(&farm, &table, "om.nicload").holds());
}
