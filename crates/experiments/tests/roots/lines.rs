//! docs/roots/lines.md: every command, figure, claim, question and wish of the five documents, with
//! its grade.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use garland_experiments::{Judged, Tally, find};
use serde::Deserialize;
use serde_json::Value;

use crate::{kept, must_be};

/// The book's pages about commands.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");

/// Returns whether a page of the book has the help of `command`, such as `garland lab up`.
fn has_help(command: &str) -> bool {
    let pages = fs::read_dir(REFERENCE).expect("the pages").map(|page| page.unwrap().path());
    let mut texts = pages.map(|page| fs::read_to_string(page).expect("a page"));
    texts.any(|text| text.lines().any(|line| line.trim_start_matches('#') == format!(" {command}")))
}

#[derive(Deserialize)]
struct Lines {
    part: Vec<Document>,
}

/// A document.
#[derive(Deserialize)]
struct Document {
    title: String,
    source: String,
    scenarios: Vec<String>,
    line: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    kind: String,
    text: String,
    /// The command that answers it.
    with: Option<String>,
    /// The statements that grade it.
    #[serde(default)]
    by: Vec<String>,
}

/// Returns the grade of a line in words.
fn grade(line: &Line, known: &BTreeMap<String, Judged>, all_kept: bool) -> String {
    if line.by.is_empty() {
        return match &line.with {
            None => "open: nothing answers it".to_owned(),
            Some(_) if line.kind == "command" => String::new(),
            Some(_) => "not graded".to_owned(),
        };
    }
    let found: Vec<&Judged> = line.by.iter().filter_map(|what| known.get(what)).collect();
    if found.len() < line.by.len() {
        let missing: Vec<_> = line.by.iter().filter(|what| !known.contains_key(*what)).collect();
        assert!(!all_kept, "{}: no statement {missing:?}", line.text);
        return "no kept run".to_owned();
    }
    match found[..] {
        [one] => one.verdict(),
        _ => found
            .iter()
            .map(|one| format!("{}: {}", one.what, one.verdict()))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

fn write_document(page: &mut String, part: &Document) -> std::fmt::Result {
    let runs: Vec<(&String, Option<Vec<Judged>>)> =
        part.scenarios.iter().map(|name| (name, kept(name))).collect();
    let all_kept = runs.iter().all(|(_, run)| run.is_some());
    let known = runs.iter().filter_map(|(_, run)| run.clone()).flatten();
    let known: BTreeMap<String, Judged> = known.map(|one| (one.what.clone(), one)).collect();
    writeln!(page, "\n## {}\n\n{}.\n", part.title, part.source)?;
    writeln!(page, "| kind | what | command | grade |\n|---|---|---|---|")?;
    for line in &part.line {
        let kinds = ["command", "claim", "question", "wish"];
        assert!(kinds.contains(&line.kind.as_str()), "{}", line.kind);
        let with = line.with.as_ref().map_or_else(String::new, |with| {
            assert!(has_help(with), "{with} is no command");
            format!("`{with}`")
        });
        let kept = grade(line, &known, all_kept);
        writeln!(page, "| {} | {} | {with} | {kept} |", line.kind, line.text)?;
    }
    for (name, run) in runs {
        let command = format!("`garland scenario run {name}`");
        match run {
            Some(run) => {
                writeln!(page, "\n{command}: {}.\n", Tally::count(&run))?;
                writeln!(
                    page,
                    "| figure | unit | published | median | grade |\n|---|---|--:|--:|---|"
                )?;
                for one in &run {
                    let median =
                        one.runs.median().map_or_else(String::new, |it| format!("{it:.3}"));
                    let what = &one.what;
                    let unit = &one.unit;
                    let then = one.published();
                    writeln!(page, "| {what} | {unit} | {then} | {median} | {} |", one.verdict())?;
                }
            }
            None => {
                let mut figures = String::new();
                let scenario = find(name).expect("a scenario");
                let experiment = scenario.experiment().expect("it can be run");
                let value = serde_json::to_value(experiment).expect("it can be serialized");
                for section in ["published", "unmeasured"] {
                    let rows = value[section].as_array().into_iter().flatten();
                    for fields in rows.filter_map(Value::as_object) {
                        let texts = fields.iter().filter_map(|(key, value)| match value {
                            Value::String(text) if !text.is_empty() => {
                                Some(format!("{key} {text}"))
                            }
                            Value::Number(number) => Some(format!("{key} {number}")),
                            Value::Object(all) if !all.is_empty() => Some(format!("{key} {value}")),
                            _ => None,
                        });
                        writeln!(figures, "- {}", texts.collect::<Vec<_>>().join(", "))?;
                    }
                }
                if figures.is_empty() {
                    writeln!(page, "\n{command}: no run is kept; no figure was published.")?;
                } else {
                    let why = "no run is kept. Its figures are not graded here";
                    write!(page, "\n{command}: {why}:\n\n{figures}")?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_line_of_the_documents_is_in_the_page() {
    let lines: Lines = toml::from_str(include_str!("lines.toml")).expect("parts with lines");
    let mut page = "\
# Every line of the five documents

Commands, figures, claims, questions and wishes of the [five roots](README.md), in our words, each beside the command of
Garland that answers it and its [grade](../scenarios.md#grades). This page is generated:
`GARLAND_ROOTS=write cargo test -p garland-experiments --test roots` writes it, from kept runs of three repetitions each
(`crates/experiments/tests/roots/runs`). Where a statement has no grade, nothing measures it.
"
    .to_owned();
    for part in &lines.part {
        write_document(&mut page, part).expect("a text can be written");
    }
    must_be("lines.md", &page);
}
