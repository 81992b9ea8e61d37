//! A table in which everything came out as published, for tests of grades.

use garland_analysis::farm::{Power, spread, standing};
use garland_analysis::grade::{Condition, Grade, RUNS, Why};

use super::growth::Grown;
use super::job::{Farm, Growth, ONE, PublishedRow};
use super::row::{CopyRow, FaultRow, Row, Scaling, SuspectRow};
use super::table::{Common, Table};
use crate::Experiment;
use crate::judged::judge;
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

/// Returns the grade of a statement about a table, if each repetition gave that table.
fn grade(farm: &Farm, table: &Table, what: &str) -> Grade {
    let all = judge(&vec![table.claims(); RUNS], &[], &farm.emulation);
    all.into_iter().find(|one| one.what == what).and_then(|one| one.grade).unwrap()
}

#[test]
fn a_suspect_explains_the_copy_only_if_its_size_has_a_source() {
    let farm = own();
    let graded = |source: Option<&str>| {
        let mut table = ideal(&farm, &farm);
        let switch = table.common.copies.iter_mut().find(|copy| copy.topology == "switch100");
        switch.unwrap().seconds /= 10.0;
        let suspect = Condition::new("a suspect", source.map(str::to_owned));
        let slow = Some(BYTES as f64 / 453.3);
        let row = SuspectRow { suspect: Some(suspect), slow, fast: None, busy: Busy::default() };
        table.common.suspects = vec![row];
        grade(&farm, &table, "copy over switch100, time")
    };
    let by = "a suspect".to_owned();
    assert_eq!(graded(Some("a manual")), Grade::Explained { by: by.clone() });
    assert_eq!(graded(None), Grade::Open(Why::Unsourced { condition: by }));
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
    for what in [
        "light, switch100, slowest",
        "light, switch100, equivalent power",
        "light, switch100, of hub10",
        "light, p2p-star, of switch100",
        "light, p2p-star, gain over switch100",
        "light: switch100 over hub10",
        "light: p2p-star over switch100",
    ] {
        let by = "a fault".to_owned();
        assert_eq!(graded(Some("a manual"), what), Grade::Explained { by: by.clone() }, "{what}");
        assert_eq!(graded(None, what), Grade::Open(Why::Unsourced { condition: by }), "{what}");
    }
    assert_eq!(graded(None, "heavy: p2p-star over switch100"), Grade::Reproduced);
}

#[test]
fn a_fourth_pc_is_judged_by_what_was_tried_beside_its_forecast() {
    let farm = own();
    let power = "light, p2p-star, power of 4 PCs";
    let told = "light, p2p-star: time on 4 nodes is within its forecast's interval";
    let of = |power_of_four: f64| {
        let mut table = ideal(&farm, &farm);
        let grown = table.common.growth.as_mut().unwrap();
        grown.rows.last_mut().unwrap().seconds = 60.0 / (power_of_four / 300.0);
        table
    };
    assert_eq!(grade(&farm, &of(1110.0), power), Grade::Reproduced);
    assert_eq!(grade(&farm, &of(1190.0), power), Grade::Reproduced);
    assert_eq!(grade(&farm, &of(1095.0), power), Grade::Open(Why::NoOrder), "the lab errs by 1 %");
    // The forecast is as ever; only what was tried counts.
    let less = of(940.0);
    assert_eq!(grade(&farm, &less, power), Grade::Open(Why::Less));
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
