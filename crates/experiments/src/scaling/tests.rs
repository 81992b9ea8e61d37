//! A table in which everything came out as published, for tests of grades.

use garland_analysis::grade::{Grade, RUNS, Why};

use super::curve::CountRow;
use super::forecast::{Answer, At, Knee, ScalingForecast};
use super::job::Scaling;
use super::table::{Common, Table};
use crate::Experiment;
use crate::claim::Measure;
use crate::judged::Judged;
use crate::scenario_lab::Busy;

/// Returns a table of `own` with what `shape` published, and forecasts that held.
pub fn ideal(shape: &Scaling, own: &Scaling) -> Table {
    let power = |nodes: u32| shape.published(nodes).map_or(10.0, |then| then.power.middle());
    let forecast = shape.job.forecast.iter().map(|&nodes| (nodes, power(nodes)));
    table_of(own, &[&[(1, 1.0)][..], &forecast.collect::<Vec<_>>()].concat())
}

/// Returns a table of `own` with these powers of numbers of nodes, and forecasts that held.
fn table_of(own: &Scaling, powers: &[(u32, f64)]) -> Table {
    let row = |&(nodes, power): &(u32, f64)| CountRow {
        nodes,
        seconds: 60.0 / power,
        busy: Busy::default(),
        run: String::new(),
    };
    let rows: Vec<CountRow> = powers.iter().map(row).collect();
    let at =
        |row: &CountRow| At { nodes: row.nodes, seconds: row.seconds, interval: Some((0.0, 60.0)) };
    let knee = Some(Knee { nodes: 15.0, resource: "hub".to_owned() });
    let forecast = Answer { curve: rows.iter().map(at).collect(), knee };
    let prediction = Some(ScalingForecast { forecast, simulated: Vec::new() });
    Table::new(own, Common { scale: 1.0, prediction }, rows)
}

const NOT_SHOWN: Grade = Grade::Differs { why: Why::NotShown, factor: None };

fn own_scaling(name: &str) -> Scaling {
    let scenario = garland_topology::scenarios::text(name).unwrap();
    match Experiment::parse(scenario, "x.toml") {
        Ok(Experiment::Scaling(scaling)) => *scaling,
        _ => panic!("{name} does not scale"),
    }
}

/// Returns the grade of a fact, or of what the experiment expects, if each repetition gave a table.
fn grade(own: &Scaling, table: &Table, name: &str) -> Grade {
    let measures = Measure::gather(&vec![table.claims(); RUNS]);
    let all = own.account("fifteen-of-24").judge(&measures);
    let is_it = |one: &Judged| one.fact.as_deref() == Some(name) || one.what == name;
    all.into_iter().find(is_it).and_then(|one| one.grade).unwrap()
}

#[test]
fn a_star_has_no_knee_if_its_last_nodes_gained_power_and_the_answer_says_what_was_measured() {
    for name in ["p2p-16", "p2p-joined"] {
        let own = own_scaling(name);
        let claim = own.job.unlimited.clone().unwrap();
        let of = |powers: [f64; 5]| {
            let counts = own.job.measured.iter().chain(&own.job.forecast).copied();
            let table = table_of(&own, &counts.zip(powers).collect::<Vec<_>>());
            (grade(&own, &table, &claim), table.to_string())
        };
        let (grade, text) = of([1.0, 2.0, 3.9, 7.6, 13.7]);
        assert_eq!(grade, Grade::Reproduced);
        let said = "knee, measured: none up to 15 nodes, which have the power of 13.7";
        assert!(text.contains(said), "{text}");
        let (grade, text) = of([1.0, 2.0, 3.9, 7.6, 7.7]);
        assert_eq!(grade, NOT_SHOWN, "a flat end");
        let said = "knee, measured: 8 nodes have the power of 7.6, and 15 that of 7.7";
        assert!(text.contains(said), "{text}");
        let (grade, text) = of([1.0; 5]);
        assert_eq!(grade, NOT_SHOWN, "a flat curve");
        assert!(text.contains("knee, measured: 1 nodes have"), "{text}");
    }
}

#[test]
fn a_figure_whose_conditions_nobody_told_has_no_grade_whatever_was_measured() {
    let own = own_scaling("fifteen-of-24");
    for power in [14.0, 15.0] {
        let table = table_of(&own, &[(1, 1.0), (16, 12.0), (20, 13.0), (24, power)]);
        let cited = grade(&own, &table, "om.cite.24");
        assert!(
            matches!(&cited, Grade::OtherHardware { why } if why.starts_with("cited")),
            "{cited}"
        );
        assert_eq!(grade(&own, &table, "om.less"), Grade::Reproduced);
    }
}

#[test]
fn without_a_forecast_no_node_was_told() {
    let own = own_scaling("fifteen-of-24");
    let mut table = ideal(&own, &own);
    let what = "time on 24 nodes is within its forecast's interval";
    assert_eq!(grade(&own, &table, what), Grade::Reproduced);
    table.common.prediction = None;
    assert_eq!(grade(&own, &table, what), NOT_SHOWN);
    assert!(table.predictions().is_empty());
    assert!(table.to_string().contains("knee, from the first 4: none"), "{table}");
}
