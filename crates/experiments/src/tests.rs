//! Tests of grades on tables in which everything came out as published: each statement of a
//! scenario then holds, and a wrong figure does not.

use garland_analysis::grade::{Figure, Grade, RUNS, Sample, Why};
use garland_topology::scenarios;

use crate::claim::{Claim, Measure};
use crate::facts::Facts;
use crate::judged::{Account, Judged, Standing, Tally};
use crate::line::Line;
use crate::{
    Experiment, balance, broadcast, copy, farm, moves, pairs, ping, placements, scaling, stripes,
};

/// The scenarios with published figures.
const ALL: [&str; 8] = [
    "dolly-2005",
    "openmosix-copy-2004",
    "openmosix-2004",
    "elan4-2005",
    "pvfs2-cp-2007",
    "beowulf-1996",
    "fifteen-of-24",
    "placements",
];

fn parse(text: &str) -> Experiment {
    Experiment::parse(text, "x.toml").unwrap_or_else(|failure| panic!("{}", failure.message()))
}

/// Returns the claims of a table that has what was published.
fn claims_of(experiment: &Experiment) -> Vec<Claim> {
    match experiment {
        Experiment::Balance(own) => balance::ideal(own, own).claims(),
        Experiment::Broadcast(own) => broadcast::ideal(own, own).claims(),
        Experiment::Copy(own) => copy::ideal(own, own).claims(),
        Experiment::Farm(own) => farm::ideal(own, own).claims(),
        Experiment::Moves(own) => moves::ideal(own).claims(),
        Experiment::Pairs(own) => pairs::ideal(own).claims(),
        Experiment::Ping(own) => ping::ideal(own, own).claims(),
        Experiment::Placements(own) => placements::ideal(own, own).claims(),
        Experiment::Scaling(own) => scaling::ideal(own, own).claims(),
        Experiment::Stripes(own) => stripes::ideal(own, own).claims(),
    }
}

/// Returns `claims` of a repetition that measured all figures larger by a factor.
fn times(claims: &[Claim], factor: f64) -> Vec<Claim> {
    let larger =
        |sample: Sample| Sample { value: sample.value.map(|value| value * factor), ..sample };
    let one = |claim: &Claim| Claim {
        sample: larger(claim.sample),
        with: claim.with.iter().map(|(one, sample)| (one.clone(), larger(*sample))).collect(),
        ..claim.clone()
    };
    claims.iter().map(one).collect()
}

/// Returns what repetitions measured that agree within a hundredth with what was published.
fn published(experiment: &Experiment) -> Vec<Measure> {
    let claims = claims_of(experiment);
    Measure::gather(&[0.99, 1.0, 1.01].map(|factor| times(&claims, factor)))
}

fn read(name: &str) -> Experiment {
    parse(scenarios::text(name).unwrap())
}

#[test]
fn what_came_out_as_published_holds() {
    for name in ALL {
        let experiment = read(name);
        let judged = experiment.account(name).judge(&published(&experiment));
        let mut shown = 0;
        for one in &judged {
            let grade = one.grade.as_ref().unwrap();
            let is_open = matches!(grade, Grade::NotMeasured | Grade::OtherHardware { .. });
            assert!(grade.holds() || is_open, "{name}: {one}");
            shown += usize::from(grade.holds());
        }
        assert!(shown > 0 || name == "fifteen-of-24", "{name}");
    }
}

#[test]
fn statements_that_the_files_do_not_have_are_not_measured_and_counted() {
    let experiment = read("pvfs2-cp-2007");
    let account = experiment.account("pvfs2-cp-2007");
    let judged = account.judge(&published(&experiment));
    let order = judged.iter().find(|one| one.fact.as_deref() == Some("pvfs.seq.reply")).unwrap();
    assert_eq!((&order.grade, order.standing), (&Some(Grade::NotMeasured), Standing::Counted));
    assert_eq!(Tally::count(&account, &judged).counted, 6, "as the list of facts says");
}

/// Returns `lines` with other figures instead of their own, in the order of the file.
fn with_figures(lines: &[Line], mut other: impl FnMut(&Figure) -> Figure) -> Vec<Line> {
    let replaced = lines.iter().map(|line| match line.published() {
        Some(figure) if line.figure.is_some() && line.at_least.is_none() => Line {
            what: line.fact.clone(),
            fact: None,
            published: Some(other(&figure).published),
            ..line.clone()
        },
        _ => line.clone(),
    });
    replaced.collect()
}

/// Returns a figure, or both ends of a range, larger by six tenths.
fn wrong(figure: &Figure) -> Figure {
    let published = &figure.published;
    let text = format!("{:.4} - {:.4}", published.least() * 1.6, published.most() * 1.6);
    Figure::new(text.parse().unwrap())
}

#[test]
fn a_wrong_figure_never_holds() {
    let mut tried = 0;
    for name in ALL {
        let experiment = read(name);
        let account = experiment.account(name);
        let lines = with_figures(account.lines, wrong);
        let judged = Account { lines: &lines, ..account }.judge(&published(&experiment));
        let changed = judged.iter().filter(|one| one.fact.is_none());
        for one in changed.filter(|one| one.standing == Standing::Counted) {
            let grade = one.grade.as_ref().unwrap();
            let is_open = *grade == Grade::NotMeasured;
            assert!(is_open || matches!(grade, Grade::Differs { .. }), "{name}: {one}");
            tried += usize::from(!is_open);
        }
    }
    assert!(tried > 70, "{tried}");
}

#[test]
fn an_order_that_came_out_the_other_way_and_a_tie_differ() {
    let grade = |name: &str, fact: &str, changes: &[(&str, f64)]| {
        let experiment = read(name);
        let mut claims = claims_of(&experiment);
        for (what, value) in changes {
            let claim = claims.iter_mut().find(|claim| claim.what == *what);
            claim.unwrap_or_else(|| panic!("{name}: no {what}")).sample = Sample::new(*value);
        }
        let measures = Measure::gather(&vec![claims; RUNS]);
        let all = experiment.account(name).judge(&measures);
        let one = all.into_iter().find(|one| one.fact.as_deref() == Some(fact));
        one.and_then(|one| one.grade).unwrap()
    };
    let star = |copy_s: f64| {
        let copies =
            [("hub10, time", 300.0), ("switch100, time", 30.0), ("p2p-star, time", copy_s)];
        grade("openmosix-copy-2004", "om.p2p.faster", &copies)
    };
    assert!(matches!(star(31.0), Grade::Differs { why: Why::OtherWay, .. }), "{}", star(31.0));
    assert!(matches!(star(29.9), Grade::Differs { why: Why::NoOrder, .. }), "{}", star(29.9));
    assert_eq!(star(20.0), Grade::Reproduced);
    let flat = |largest: f64| {
        grade("elan4-2005", "elan.sizes.flat", &[("64 bytes, 1 in flight", largest)])
    };
    assert_eq!(flat(2.4), Grade::Reproduced);
    assert!(matches!(flat(2.6), Grade::Differs { why: Why::More, .. }), "{}", flat(2.6));
}

#[test]
fn the_copy_of_2004_follows_from_the_rates_of_its_disks() {
    let experiment = read("openmosix-copy-2004");
    let account = experiment.account("openmosix-copy-2004");
    let judged = |seconds: f64| {
        let mut claims = claims_of(&experiment);
        let hub = claims.iter_mut().find(|claim| claim.what == "hub10, time").unwrap();
        hub.sample = Sample::new(seconds);
        let all = account.judge(&Measure::gather(&vec![claims; RUNS]));
        all.into_iter().find(|one| one.fact.as_deref() == Some("om.copy.hub")).unwrap()
    };
    // The wires alone take 293.2 s. 334 MB are read at 28.83 and written at 12.36 MB/s.
    let one = judged(293.2);
    let Some(Grade::Follows { from, off: Some(off) }) = &one.grade else { panic!("{one}") };
    assert!(from.contains("om.disk.new, om.disk.old"), "{from}");
    assert!((off - (331.86 / 337.4 - 1.0)).abs() < 1e-4, "{off}");
    // What the wires alone do not take does not follow.
    assert!(matches!(judged(250.0).grade, Some(Grade::Differs { .. })));
    let twice = judged(280.0);
    assert!(
        matches!(twice.grade, Some(Grade::Differs { .. })),
        "off by more than a law may: {twice}"
    );
}

#[test]
fn more_constants_than_the_list_of_facts_allows_are_refused() {
    let experiment = read("beowulf-1996");
    let account = experiment.account("beowulf-1996");
    assert!(account.check().is_ok());
    let more = [account.constants, account.constants].concat();
    let refused = Account { constants: &more, ..account }.check().unwrap_err();
    assert!(refused.message().contains("allows 1 constants, not 2"), "{}", refused.message());
    let lines = [account.lines, &account.lines[..1]].concat();
    let refused = Account { lines: &lines, ..account }.check().unwrap_err();
    assert!(refused.message().contains("has two statements"), "{}", refused.message());
    let unknown = [Line { fact: Some("bw.unknown".to_owned()), ..Line::default() }];
    let refused = Account { lines: &unknown, ..account }.check().unwrap_err();
    assert!(refused.message().contains("not in the list of facts"), "{}", refused.message());
}

#[test]
fn a_row_that_a_constant_was_fitted_on_is_not_counted() {
    let experiment = read("beowulf-1996");
    let account = experiment.account("beowulf-1996");
    let measures = published(&experiment);
    let fitted = account.judge(&measures);
    let free = Account { constants: &[], ..account };
    let counted = |account: &Account<'_>, all: &[Judged]| Tally::count(account, all).counted;
    assert_eq!(counted(&account, &fitted), 6);
    assert_eq!(counted(&free, &free.judge(&measures)), 7);
    let tally = Tally::count(&account, &fitted);
    assert_eq!((tally.reproduced, tally.constants), (0, 1), "what holds follows from the constant");
    assert!(tally.follow > 2, "{tally}");
}

#[test]
fn a_repetition_alone_is_not_graded_and_a_void_one_is_shown() {
    let experiment = read("dolly-2005");
    let account = experiment.account("dolly-2005");
    let claims = claims_of(&experiment);
    let once = account.judge(&Measure::gather(std::slice::from_ref(&claims)));
    assert!(once.iter().all(|one| one.grade.is_none() && !one.is_unsettled()));
    let mut repetitions = vec![claims; RUNS];
    repetitions[1].iter_mut().for_each(|claim| claim.sample = claim.sample.voided(true));
    let judged = account.judge(&Measure::gather(&repetitions));
    let tally = Tally::count(&account, &judged);
    assert!(tally.void > 10 && tally.reproduced == 0, "{tally}");
    assert!(judged[0].to_string().contains("(void)"), "{}", judged[0]);
}

#[test]
fn a_condition_that_one_repetition_did_not_measure_explains_nothing() {
    let experiment = read("pvfs2-cp-2007");
    let claims = claims_of(&experiment);
    let copy = |repetitions: &[Vec<Claim>]| {
        let all = experiment.account("pvfs2-cp-2007").judge(&Measure::gather(repetitions));
        all.into_iter().find(|one| one.fact.as_deref() == Some("pvfs.copy.rate")).unwrap()
    };
    let whole = copy(&vec![claims.clone(); RUNS]);
    assert!(matches!(whole.grade, Some(Grade::Follows { .. })), "{whole}");
    let mut some = vec![claims; RUNS];
    some[0].iter_mut().for_each(|claim| claim.with.clear());
    let some = copy(&some);
    assert!(matches!(some.grade, Some(Grade::Differs { .. })), "{some}");
}

#[test]
fn no_printed_line_is_wide() {
    for name in ALL {
        let experiment = read(name);
        let judged = experiment.account(name).judge(&published(&experiment));
        for line in judged.iter().flat_map(|one| {
            let text = one.to_string();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        }) {
            assert!(line.chars().count() <= 120, "{name}: {line}");
        }
    }
}

/// Returns `lines` with their figures in another order, which follows from `seed`.
fn shuffled(lines: &[Line], seed: u64) -> Vec<Line> {
    let mut figures = Vec::new();
    with_figures(lines, |figure| {
        figures.push(figure.clone());
        figure.clone()
    });
    // Fisher and Yates, with the generator of Knuth's MMIX.
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    for last in (1..figures.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        figures.swap(last, (state >> 33) as usize % (last + 1));
    }
    let mut figures = figures.into_iter();
    with_figures(lines, |figure| figures.next().unwrap_or_else(|| figure.clone()))
}

/// The share of the shuffled figures that hold, of all scenarios with these measurements. Each is
/// shuffled by as many seeds.
fn share(measured: impl Fn(&str, &Experiment) -> Vec<Measure>) -> f64 {
    let mut all = 0;
    let mut held = 0;
    for name in ALL {
        let experiment = read(name);
        let account = experiment.account(name);
        let measures = measured(name, &experiment);
        for seed in 0..20 {
            let lines = shuffled(account.lines, seed);
            let judged = Account { lines: &lines, ..account }.judge(&measures);
            let is_changed =
                |one: &&Judged| one.fact.is_none() && one.standing == Standing::Counted;
            let figures = judged.iter().filter(is_changed);
            for grade in figures.filter_map(|one| one.grade.as_ref()) {
                all += 1;
                held += usize::from(grade.holds());
            }
        }
    }
    assert!(all > 1000, "{all}");
    f64::from(u32::try_from(held).unwrap()) / f64::from(u32::try_from(all).unwrap())
}

#[test]
fn shuffled_figures_differ_even_if_the_emulation_is_perfect() {
    let found = share(|_, experiment| published(experiment));
    assert!(found < 0.2, "{:.1} % of shuffled figures hold", found * 100.0);
    assert!(found > 0.0, "some figures are equal, so that shuffling keeps them");
}

#[test]
fn shuffled_figures_differ_in_kept_runs() {
    let found = share(|name, _| {
        let path = format!("{}/tests/roots/runs/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    });
    assert!(found < 0.1, "{:.1} % of shuffled figures hold", found * 100.0);
}

/// Keys of `[[published]]` that identify a row and are no figures.
const NAMES: [&str; 10] = [
    "tool",
    "topology",
    "load",
    "wire",
    "size",
    "best",
    "placement",
    "receivers",
    "bytes",
    "nodes",
];

/// Adds the texts of the figures in `value` to `found`.
fn texts(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| !NAMES.contains(&key.as_str()));
            fields.for_each(|(_, value)| texts(value, found));
        }
        serde_json::Value::Array(all) => all.iter().for_each(|value| texts(value, found)),
        serde_json::Value::String(text) => found.push(text.clone()),
        _ => {}
    }
}

#[test]
fn figures_of_tables_are_those_of_the_facts_to_the_digit() {
    let ends = |text: &str| {
        let mut ends: Vec<String> = text.split(" - ").map(str::to_owned).collect();
        ends.sort();
        ends
    };
    let facts = Facts::embedded().all().iter();
    let facts: Vec<_> = facts.map(|fact| ends(&fact.published())).collect();
    // Amir and others, 2000, are none of the five documents.
    for name in ALL.into_iter().filter(|name| *name != "placements") {
        let value = serde_json::to_value(read(name)).unwrap();
        let mut found = Vec::new();
        texts(&value["published"], &mut found);
        for figure in found {
            // The list of facts has 20 nodes of 100 MHz in MHz.
            let is_known = facts.contains(&ends(&figure)) || figure == "17";
            assert!(is_known, "{name}: {figure} is no fact");
        }
    }
}
