//! A table in which everything came out as published, for tests of grades.

use garland_analysis::grade::{Grade, RUNS, Why};

use super::job::Balance;
use super::row::Row;
use super::table::{Common, Table};
use crate::Experiment;
use crate::claim::Measure;
use crate::judged::{Judged, Standing};
use crate::pairs::Wire;
use crate::scenario_lab::Busy;

/// The rates of the bonded networks by number of remote copies, in MB/s, but for that of the peak.
const BONDED: [f64; 8] = [6.0, 0.0, 6.5, 5.0, 4.0, 3.0, 2.5, 2.0];

/// Returns a table of `own` with what `shape` published: bonded busses at their peak with one
/// remote copy, and meshes that sustain their rate.
pub fn ideal(shape: &Balance, own: &Balance) -> Table {
    let row = |topology: &str, wire: Wire, remote: usize, rate: f64| Row {
        topology: topology.to_owned(),
        wire,
        size: 2_000_000,
        remote,
        rate: rate * 1e6,
        predicted: 1.0,
        bound: 1.0,
        wires: None,
        resource: None,
        busy: Busy::default(),
        disk_twice: 1.0,
        network_twice: 1.0,
    };
    let mut rows = Vec::new();
    for then in &shape.published {
        for (remote, bonded) in BONDED.into_iter().enumerate() {
            let name = &then.topology;
            let rate = then.rate.middle();
            match then.best {
                Some(best) if best == remote => rows.push(row(name, then.wire, remote, rate)),
                Some(_) => rows.push(row(name, then.wire, remote, bonded)),
                None => {
                    rows.push(row(name, then.wire, remote, rate));
                    rows.push(row(name, Wire::Remote, remote, rate / 2.0));
                }
            }
        }
    }
    let sizes = vec![2_000_000, 16_000_000];
    Table::new(
        own,
        Common { scale: 1.0, sizes, upgrades: Vec::new(), overtaking: Vec::new() },
        rows,
    )
}

#[test]
fn disks_that_make_the_published_rate_everywhere_are_no_peak() {
    let scenario = garland_topology::scenarios::text("beowulf-1996").unwrap();
    let Ok(Experiment::Balance(own)) = Experiment::parse(scenario, "x.toml") else {
        panic!("no test")
    };
    // The rate of the disks is chosen so that local copies have it, whatever the networks do.
    let mut table = ideal(&own, &own);
    table.rows.iter_mut().for_each(|row| row.rate = 7.2e6);
    let measures = Measure::gather(&vec![table.claims(); RUNS]);
    let all = own.account("beowulf-1996").judge(&measures);
    let of = |fact: &str| all.iter().find(|one| one.fact.as_deref() == Some(fact)).unwrap();
    let grade = of("bw.bonded.where").grade.clone().unwrap();
    assert!(matches!(grade, Grade::Differs { why: Why::NoOrder, .. }), "{grade}");
    assert_eq!(of("bw.bonded.peak").standing, Standing::Fitted);
    let counted = all.iter().filter(|one| one.standing == Standing::Counted);
    assert!(counted.clone().count() > 3 && counted.clone().all(Judged::is_unsettled));
}
