//! Published figures: those of the scenarios are those of their sources, to the digit, and none is
//! left out.

use std::collections::BTreeMap;

use garland_analysis::grade::Published;
use garland_experiments::{Scenario, all};
use serde_json::Value;

/// The keys of `[[published]]` that identify a row and are no figures.
const NAMES: [&str; 11] = [
    "tool",
    "topology",
    "load",
    "wire",
    "size",
    "best",
    "placement",
    "receivers",
    "bytes",
    "in_flight",
    "nodes",
];

/// Adds the figures in `value`, which is at `key`, to `found`.
fn figures(key: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| !NAMES.contains(&key.as_str()));
            fields.for_each(|(key, value)| figures(key, value, found));
        }
        Value::Array(all) => all.iter().for_each(|value| figures(key, value, found)),
        Value::String(text) if !["calibrated", "unsourced", "what", "unit"].contains(&key) => {
            found.push(text.clone());
        }
        Value::Number(number) => panic!("{key} = {number}: a number loses digits; write a text"),
        _ => {}
    }
}

/// Returns the figures of a scenario's file, sorted.
fn of_file(scenario: &Scenario) -> Vec<String> {
    let value = serde_json::to_value(scenario).expect("a scenario can be serialized");
    let mut found = Vec::new();
    for section in ["published", "unmeasured"] {
        figures(section, &value[section], &mut found);
    }
    found.sort();
    found
}

#[test]
fn figures_are_those_of_the_sources_to_the_digit_and_none_is_left_out() {
    let sources: BTreeMap<String, Vec<String>> =
        toml::from_str(include_str!("published.toml")).expect("a list for each scenario");
    let scenarios = all().expect("scenarios can be read").into_iter();
    let scenarios: Vec<_> = scenarios.filter(|one| one.experiment().is_ok()).collect();
    assert_eq!(scenarios.len(), sources.len());
    for scenario in &scenarios {
        let mut source = sources[&scenario.name].clone();
        source.sort();
        assert_eq!(of_file(scenario), source, "{}", scenario.name);
        for figure in source {
            assert_eq!(figure.parse::<Published>().expect("a figure").to_string(), figure);
        }
    }
}
