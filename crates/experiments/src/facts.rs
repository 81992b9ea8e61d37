//! The frozen list of what the five documents say, `scenarios/facts.toml`: which facts are
//! independent of each other, and which an emulation can be compared with. Grades are given over
//! it. Its rules are in its head.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use garland_analysis::grade::{Figure, Published};
use serde::{Deserialize, Serialize};

/// The text of the list.
const TEXT: &str = include_str!("../../../scenarios/facts.toml");

/// The format version that this release reads.
const VERSION: u32 = 1;

/// All facts, with the limits of scenarios.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    version: u32,
    /// Whether the list is never changed.
    pub frozen: bool,
    /// The numbers of facts of each document, by its number, and of all.
    pub counts: BTreeMap<String, Counts>,
    #[serde(rename = "scenario")]
    scenarios: BTreeMap<String, Limits>,
    #[serde(rename = "fact")]
    facts: Vec<Fact>,
    #[serde(rename = "question")]
    questions: Vec<Question>,
}

/// How many facts a document has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// All of its facts.
    pub facts: usize,
    /// Those that do not follow from others.
    pub independent: usize,
    /// Those that do.
    pub derived: usize,
    /// The inputs of its test, which are independent and not counted.
    pub conditions: usize,
    /// Those that an emulation can be compared with.
    pub comparable: usize,
    /// Those of these that are independent.
    pub independent_comparable: usize,
    /// Those that are derived and count for figures that are not all comparable.
    pub stands_in: usize,
    /// Its questions and wishes.
    pub questions: usize,
}

/// How many facts of a scenario can be counted, and the most constants that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The number of its facts that can be counted.
    pub countable: usize,
    /// The most constants that are fitted on published figures, or are such figures.
    pub constants_at_most: usize,
}

/// The type of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FactType {
    /// An input of the published test.
    Condition,
    /// A figure.
    Result,
    /// An order of figures.
    Order,
    /// A claim or a guess.
    Claim,
}

/// Whether a fact follows from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dependence {
    /// It does not.
    Independent,
    /// It is arithmetic on others.
    Derived,
}

/// A published fact.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// The name of the fact, such as `dolly.script.time.20`.
    pub id: String,
    /// The number of the document that has it.
    pub document: String,
    /// What kind of statement it is.
    #[serde(rename = "type")]
    pub fact_type: FactType,
    /// What it says, in our words.
    pub statement: String,
    /// The figure, to the digit; `None` if the fact has none.
    value: Option<String>,
    /// The least and the most of a figure; `None` if the fact has no range.
    range: Option<[String; 2]>,
    /// The unit of the figure.
    #[serde(default)]
    pub unit: String,
    /// Half a unit of the last digit, in the fact's unit.
    #[serde(default)]
    resolution: f64,
    /// Whether it follows from others.
    #[serde(rename = "kind")]
    pub dependence: Dependence,
    /// The ids of the facts that a derived one comes from.
    #[serde(default)]
    pub from: Vec<String>,
    /// Whether an emulation can be compared with it.
    pub comparable: bool,
    /// Whether a derived fact counts, for figures that are not all comparable.
    #[serde(default)]
    pub stands_in: bool,
    /// Why it cannot be compared; empty if it can.
    #[serde(default)]
    pub why: String,
    /// The name of the scenario that answers it; `none` if there is none.
    pub scenario: String,
    /// A remark; empty if there is none.
    #[serde(default)]
    pub note: String,
}

/// A question or a wish of a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The name of the question.
    pub id: String,
    /// The number of the document that asks it.
    pub document: String,
    /// What is asked, in our words.
    pub question: String,
    /// What counts as an answer.
    pub answer: String,
    /// The name of the scenario that answers it; `none` if there is none.
    pub scenario: String,
}

/// The beginnings of the reasons that tell of other hardware; the other reasons tell that a
/// condition or a figure is missing.
const OTHER_HARDWARE: [&str; 6] = [
    "absolute time of",
    "process start of other hardware",
    "a pause of other hardware",
    "a property of one adapter",
    "a controller's mode",
    "no PCI bus",
];

impl Fact {
    /// Returns whether the fact can be counted: it is comparable, and independent or a stand-in.
    pub fn counts(&self) -> bool {
        self.comparable && (self.dependence == Dependence::Independent || self.stands_in)
    }

    /// Returns the published figure; `None` if the fact has none that is a number.
    pub fn figure(&self) -> Option<Figure> {
        let text = match (&self.value, &self.range) {
            (Some(value), _) => value.clone(),
            (None, Some([low, high])) => format!("{low} - {high}"),
            (None, None) => return None,
        };
        let published: Published = text.parse().ok()?;
        Some(Figure { published, resolution: self.resolution })
    }

    /// Returns what was published, as text: the figure or that the fact has none.
    pub fn published(&self) -> String {
        match (&self.value, &self.range) {
            (Some(value), _) => value.clone(),
            (None, Some([low, high])) => format!("{low} - {high}"),
            (None, None) => String::new(),
        }
    }

    /// Returns whether the fact is an outcome of the published test that no emulation can be
    /// compared with, and does not follow from others.
    pub fn is_left_out(&self) -> bool {
        let is_independent = self.dependence == Dependence::Independent;
        is_independent && !self.comparable && self.fact_type != FactType::Condition
    }

    /// Returns whether the fact is left out because it tells of other hardware.
    pub fn is_of_other_hardware(&self) -> bool {
        self.is_left_out() && OTHER_HARDWARE.iter().any(|begins| self.why.starts_with(begins))
    }
}

impl Facts {
    /// Returns the embedded list.
    pub fn embedded() -> &'static Self {
        static FACTS: LazyLock<Facts> = LazyLock::new(|| {
            let facts: Facts = toml::from_str(TEXT).expect("a test parses the embedded list");
            assert_eq!(facts.version, VERSION, "a test parses the embedded list");
            facts
        });
        &FACTS
    }

    /// Returns the fact `id`; `None` if there is none.
    pub fn find(&self, id: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.id == id)
    }

    /// Returns all facts, in the order of the documents.
    pub fn all(&self) -> &[Fact] {
        &self.facts
    }

    /// Returns all questions and wishes, in the order of the documents.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Returns the facts that a scenario answers.
    pub fn of_scenario<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Fact> {
        self.facts.iter().filter(move |fact| fact.scenario == name)
    }

    /// Returns the limits of a scenario; `None` if the list has none for it.
    pub fn limits(&self, scenario: &str) -> Option<Limits> {
        self.scenarios.get(scenario).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_embedded_list_is_the_frozen_one() {
        let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/field/facts.toml");
        if Path::new(shared).exists() {
            let frozen = std::fs::read_to_string(shared).expect("the frozen list");
            assert!(frozen == TEXT, "scenarios/facts.toml differs from the frozen list");
        }
        assert!(Facts::embedded().frozen);
    }

    #[test]
    fn the_list_counts_what_it_says() {
        let list = Facts::embedded();
        let documents = list.counts.keys().filter(|key| *key != "all");
        for document in documents.clone().map(Some).chain([None]) {
            let is_of = |one: &str| document.is_none_or(|document| document == one);
            let facts: Vec<_> = list.all().iter().filter(|fact| is_of(&fact.document)).collect();
            let count = |is: &dyn Fn(&Fact) -> bool| facts.iter().filter(|fact| is(fact)).count();
            let independent = |fact: &Fact| fact.dependence == Dependence::Independent;
            let counted = Counts {
                facts: facts.len(),
                independent: count(&independent),
                derived: count(&|fact| !independent(fact)),
                conditions: count(&|fact| fact.fact_type == FactType::Condition),
                comparable: count(&|fact| fact.comparable),
                independent_comparable: count(&|fact| fact.comparable && independent(fact)),
                stands_in: count(&|fact| fact.stands_in),
                questions: list.questions().iter().filter(|one| is_of(&one.document)).count(),
            };
            let key = document.map_or("all", String::as_str);
            assert_eq!(counted, list.counts[key], "{key}");
        }
        for (name, limits) in &list.scenarios {
            let countable = list.of_scenario(name).filter(|fact| fact.counts()).count();
            assert_eq!(countable, limits.countable, "{name}");
        }
    }

    #[test]
    fn ids_are_unique_and_derived_facts_come_from_known_ones() {
        let list = Facts::embedded();
        let mut ids = HashSet::new();
        for fact in list.all() {
            assert!(ids.insert(&fact.id), "{} is there twice", fact.id);
            assert_eq!(fact.from.is_empty(), fact.dependence == Dependence::Independent);
            assert!(fact.from.iter().all(|id| list.find(id).is_some()), "{}", fact.id);
            assert_eq!(fact.why.is_empty(), fact.comparable, "{}", fact.id);
            assert!(!fact.stands_in || fact.dependence == Dependence::Derived, "{}", fact.id);
        }
        let left_out = list.all().iter().filter(|fact| fact.is_left_out()).count();
        let hardware = list.all().iter().filter(|fact| fact.is_of_other_hardware()).count();
        assert_eq!((left_out, hardware), (29, 17));
    }

    #[test]
    fn a_figure_has_its_digits_and_its_resolution() {
        let figure = |id: &str| Facts::embedded().find(id).unwrap().figure();
        let time = figure("dolly.script.time.2").unwrap();
        assert_eq!((time.published.to_string().as_str(), time.resolution), ("8.9 - 9.3", 0.05));
        let minutes = figure("om.light.hub.slowest").unwrap();
        assert_eq!((minutes.published.middle(), minutes.resolution), (1709.0, 0.5));
        assert_eq!(figure("om.p2p.nics.rule"), None, "a formula");
        assert_eq!(figure("elan.depth.order"), None, "an order");
    }
}
