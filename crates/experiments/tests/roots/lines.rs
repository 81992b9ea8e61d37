//! docs/roots/lines.md: every command, fact, question and wish of the five documents, with its
//! grade; and the account on top of it and of docs/roots/README.md.

use std::collections::BTreeMap;
use std::fs;

use garland_experiments::facts::{Fact, FactType, Facts};
use garland_experiments::{Judged, Standing, Tally, all, wrapped};
use serde::Deserialize;

use crate::{PAGES, RUNS, kept, must_be};

/// The book's pages about commands.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");

/// What precedes and follows the account in the pages of docs/roots.
const MARKS: [&str; 2] = ["<!-- account -->", "<!-- end of account -->"];

/// Returns whether a page of the book has the help of `command`, such as `garland lab up`.
fn has_help(command: &str) -> bool {
    let pages = fs::read_dir(REFERENCE).expect("the pages").map(|page| page.unwrap().path());
    let mut texts = pages.map(|page| fs::read_to_string(page).expect("a page"));
    texts.any(|text| text.lines().any(|line| line.trim_start_matches('#') == format!(" {command}")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    part: Vec<Document>,
}

/// A document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    /// Its number in the list of facts.
    document: String,
    /// The name of its page in docs/roots.
    page: String,
    title: String,
    source: String,
    commands: Vec<Line>,
    /// The commands that answer its questions, by their ids.
    answers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
    /// The command of Garland that does the same.
    with: Option<String>,
}

/// All kept runs: the statements by their facts, and those that the documents do not have.
struct Graded {
    facts: BTreeMap<String, Judged>,
    extras: Vec<(String, Vec<Judged>)>,
    /// The facts that each constant of a scenario was fitted on.
    constants: Vec<Vec<String>>,
}

/// Grades all kept runs.
fn grade_all() -> Graded {
    let mut facts = BTreeMap::new();
    let mut all_extras = Vec::new();
    let mut constants = Vec::new();
    for scenario in all().expect("scenarios can be read") {
        let Ok(experiment) = scenario.experiment() else { continue };
        let name = &scenario.name;
        constants.extend(experiment.account(name).constants.iter().map(|one| one.on.clone()));
        let (of_facts, extras): (Vec<Judged>, Vec<Judged>) =
            kept(name).into_iter().partition(|one| one.fact.is_some());
        for one in of_facts {
            let id = one.fact.clone().unwrap_or_default();
            assert!(facts.insert(id, one).is_none(), "a fact has two grades");
        }
        all_extras.push((name.clone(), extras));
    }
    Graded { facts, extras: all_extras, constants }
}

impl Graded {
    /// Counts the facts of a document.
    fn tally(&self, document: &str) -> Tally {
        let facts = Facts::embedded();
        let is_here = |id: &String| facts.find(id).is_some_and(|fact| fact.document == document);
        let constants = self.constants.iter().filter(|on| on.iter().any(is_here)).count();
        let mut tally = Tally { constants, ..Tally::default() };
        for fact in facts.all().iter().filter(|fact| fact.document == document) {
            let judged = self.facts.get(&fact.id);
            let is_fitted = judged.is_some_and(|one| one.standing == Standing::Fitted);
            if fact.counts() && !is_fitted {
                tally.add(judged.and_then(|one| one.grade.as_ref()));
            }
            tally.other_hardware += usize::from(fact.is_of_other_hardware());
        }
        tally
    }
}

/// Returns an account in bold, in lines of a page.
fn account(tally: Tally) -> String {
    wrapped("", &format!("**{tally}**")).join("\n")
}

/// Checks that a page of docs/roots has this text between its marks, or writes it.
fn must_have(name: &str, text: &str) {
    let path = format!("{PAGES}/{name}");
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (before, rest) = page.split_once(MARKS[0]).expect("the place of the account");
    let (_, after) = rest.split_once(MARKS[1]).expect("the end of the account");
    must_be(name, &format!("{before}{}\n{text}\n{}{after}", MARKS[0], MARKS[1]));
}

/// Returns a list element of the page.
fn element(text: &str) -> String {
    let lines = wrapped("  ", text);
    let lines = lines.iter().enumerate().map(|(at, line)| match at {
        0 => format!("- {}\n", line.trim_start()),
        _ => format!("  {}\n", line.trim_start()),
    });
    lines.collect()
}

/// Returns the element about a statement with its grade; `figures` are what was published and the
/// median.
fn graded_element(name: &str, what: &str, figures: &str, verdict: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!("`{name}`: ") };
    let figures = if figures.is_empty() { String::new() } else { format!("; {figures}") };
    element(&format!("{name}{what}{figures}: **{verdict}**"))
}

/// Returns the elements of the facts of a document that `is` chooses; empty if there are none.
fn section(
    title: &str,
    document: &str,
    graded: &Graded,
    is: impl Fn(&Fact, Option<&Judged>) -> bool,
) -> String {
    let facts = Facts::embedded().all().iter().filter(|fact| fact.document == document);
    let elements: String = facts
        .map(|fact| (fact, graded.facts.get(&fact.id)))
        .filter(|(fact, judged)| is(fact, *judged))
        .map(|(fact, judged)| match judged {
            Some(one) => graded_element(&fact.id, &one.what, &one.figures(), &one.verdict()),
            None => {
                let figure = format!("published {} {}", fact.published(), fact.unit);
                let figure = if fact.published().is_empty() { "" } else { &figure };
                graded_element(&fact.id, &fact.statement, figure, "not measured")
            }
        })
        .collect();
    if elements.is_empty() { String::new() } else { format!("\n### {title}\n\n{elements}") }
}

fn document(part: &Document, graded: &Graded) -> String {
    let mut page = format!("\n## {}\n\n{}.\n\n### Commands\n\n", part.title, part.source);
    for line in &part.commands {
        let with = line.with.as_ref().map_or_else(
            || "nothing in Garland".to_owned(),
            |with| {
                assert!(has_help(with), "{with} is no command");
                format!("`{with}`")
            },
        );
        page.push_str(&element(&format!("{}: {with}", line.text)));
    }
    page.push_str("\n### Questions and wishes\n\n");
    let questions = Facts::embedded().questions().iter();
    for one in questions.filter(|one| one.document == part.document) {
        let with = &part.answers[&one.id];
        assert!(has_help(with), "{with} is no command");
        let text = format!(
            "`{}`: {} `{with}`. What counts as an answer: {}",
            one.id, one.question, one.answer
        );
        page.push_str(&element(&text));
    }
    let is_fitted =
        |judged: Option<&Judged>| judged.is_some_and(|one| one.standing == Standing::Fitted);
    let name = &part.document;
    page.push_str(&section("Facts that count", name, graded, |fact, judged| {
        fact.counts() && !is_fitted(judged)
    }));
    page.push_str(&section("Put in, or fitted on: not counted", name, graded, |_, judged| {
        is_fitted(judged)
    }));
    page.push_str(&section("Beside these, not counted", name, graded, |fact, judged| {
        let is_condition = fact.fact_type == FactType::Condition;
        judged.is_some() && !fact.counts() && !is_condition && !is_fitted(judged)
    }));
    page
}

#[test]
fn every_fact_of_the_documents_is_in_the_page_and_the_account_on_top() {
    let lines: Lines = toml::from_str(include_str!("lines.toml")).expect("parts with lines");
    let graded = grade_all();
    let tallies = lines.part.iter().map(|part| graded.tally(&part.document));
    let all = account(tallies.fold(Tally::default(), Tally::and));
    let mut page = format!(
        "\
# Every fact of the five documents

{all}

Commands, questions, wishes and facts of the [five roots](README.md), in our words: those of the
frozen list `scenarios/facts.toml`, each with its [grade](../scenarios.md#grades). This page is
generated: `GARLAND_ROOTS=write cargo test -p garland-experiments --test roots` writes it, from kept
runs of three repetitions each (`crates/experiments/tests/roots/runs`). What those runs did not
measure yet is not measured here.
"
    );
    for part in &lines.part {
        page.push_str(&document(part, &graded));
    }
    page.push_str("\n## What the documents do not have\n");
    for (name, extras) in graded.extras.iter().filter(|(_, extras)| !extras.is_empty()) {
        page.push_str(&format!("\n`garland scenario run {name}`:\n\n"));
        for one in extras {
            page.push_str(&graded_element("", &one.what, &one.figures(), &one.verdict()));
        }
    }
    must_be("lines.md", &page);
    must_have("README.md", &all);
    for part in &lines.part {
        must_have(&part.page, &account(graded.tally(&part.document)));
    }
}

/// Measurements of statements that the kept runs do not have yet.
const LATER: [&str; 15] = [
    "light, switch100, jobs of less than 14 minutes",
    "heavy, switch100, load of the server's NICs",
    "heavy, hub10, work over what is lost",
    "heavy, switch100, work over what is lost",
    "light, p2p-star, work over what is lost",
    "light, hub10, work over what is lost",
    "jobs of n1, mosix",
    "jobs of n2, mosix",
    "jobs of n3, mosix",
    "jobs that moved while they ran",
    "1MB: standing chain over one set up for it, to 1",
    "1MB: standing chain over one set up for it, to 2",
    "1MB: standing chain over one set up for it, to 5",
    "1MB: standing chain over one set up for it, to 10",
    "1MB: standing chain over one set up for it, to 20",
];

#[test]
fn statements_name_what_is_measured() {
    for scenario in all().expect("scenarios can be read") {
        let Ok(experiment) = scenario.experiment() else { continue };
        let text = fs::read_to_string(format!("{RUNS}/{}.json", scenario.name)).expect("a run");
        let account = experiment.account(&scenario.name);
        for name in account.lines.iter().flat_map(|line| line.measures(account.lines)) {
            let is_kept = text.contains(&format!("\"what\": \"{name}\""));
            assert!(is_kept || LATER.contains(&name.as_str()), "{}: {name}", scenario.name);
        }
    }
}
