//! Tables of the file, read by kind; every value keeps its place.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ClusterFileProblem, Fault};
use crate::cluster::nearest::nearest;

/// A table of which all keys are known.
pub(super) struct Section<'t> {
    title: &'static str,
    span: Range<usize>,
    table: &'t DeTable<'t>,
}

/// A text that isn't empty, its place, and the key it stands under.
#[derive(Clone)]
pub(super) struct Text<'t> {
    pub(super) key: String,
    pub(super) value: &'t str,
    pub(super) span: Range<usize>,
}

impl<'t> Section<'t> {
    /// Refuses a table with keys that aren't allowed; the first in the file is told.
    pub(super) fn new(
        title: &'static str,
        span: Range<usize>,
        table: &'t DeTable<'t>,
        allowed: &[&'static str],
    ) -> Result<Self, Fault> {
        let unknown = table.keys().filter(|key| !allowed.contains(&key.get_ref().as_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(Self { title, span, table }),
            Some(key) => {
                let problem = ClusterFileProblem::UnknownKey {
                    key: key.get_ref().escape_debug().to_string(),
                    section: title,
                    allowed: allowed.join(", "),
                    near: nearest(key.get_ref(), allowed.iter().copied()),
                };
                Err(Fault::new(key.span(), problem))
            }
        }
    }

    /// The section below `key`, if it is there.
    pub(super) fn section(
        &self,
        key: &'static str,
        title: &'static str,
        allowed: &[&'static str],
    ) -> Result<Option<Self>, Fault> {
        let Some((table, span)) = self.table_at(key)? else {
            return Ok(None);
        };
        Self::new(title, span, table, allowed).map(Some)
    }

    /// The table below `key`, whatever its keys.
    pub(super) fn table_at(
        &self,
        key: &'static str,
    ) -> Result<Option<(&'t DeTable<'t>, Range<usize>)>, Fault> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::Table(table) => Ok(Some((table, value.span()))),
                other => Err(wrong_kind(key, &format!("a section `[{key}]`"), other, value.span())),
            },
        }
    }

    pub(super) fn value(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<Text<'t>>, Fault> {
        self.value(key).map(|value| text(key.to_owned(), value)).transpose()
    }

    pub(super) fn needed_text(
        &self,
        key: &'static str,
        example: &'static str,
    ) -> Result<Text<'t>, Fault> {
        self.text(key)?.ok_or_else(|| self.missing(key, example))
    }

    pub(super) fn missing(&self, key: &'static str, example: &'static str) -> Fault {
        Fault::new(
            self.span.clone(),
            ClusterFileProblem::Missing { section: self.title, key, example },
        )
    }

    /// The texts of an array; none when the key is missing.
    pub(super) fn texts(&self, key: &'static str) -> Result<Vec<Text<'t>>, Fault> {
        let Some(value) = self.value(key) else {
            return Ok(Vec::new());
        };
        match value.get_ref() {
            DeValue::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| text(format!("{key}[{index}]"), item))
                .collect(),
            other => Err(wrong_kind(key, "an array of texts", other, value.span())),
        }
    }

    /// A whole number within bounds.
    pub(super) fn integer(
        &self,
        key: &'static str,
        bounds: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Fault> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        let DeValue::Integer(integer) = value.get_ref() else {
            return Err(wrong_kind(key, &expected, value.get_ref(), value.span()));
        };
        let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok();
        number.filter(|number| bounds.contains(number)).map(Some).ok_or_else(|| {
            let problem = ClusterFileProblem::Kind {
                key: key.to_owned(),
                expected,
                found: integer.to_string(),
            };
            Fault::new(value.span(), problem)
        })
    }
}

/// A text that isn't empty.
pub(super) fn text<'t>(key: String, value: &'t Spanned<DeValue<'t>>) -> Result<Text<'t>, Fault> {
    match value.get_ref() {
        DeValue::String(text) if text.trim().is_empty() => {
            Err(Fault::new(value.span(), ClusterFileProblem::Empty(key)))
        }
        DeValue::String(text) => Ok(Text { key, value: text, span: value.span() }),
        other => Err(wrong_kind(&key, "a text in quotes", other, value.span())),
    }
}

pub(super) fn wrong_kind(
    key: &str,
    expected: &str,
    found: &DeValue<'_>,
    span: Range<usize>,
) -> Fault {
    let found = match found {
        DeValue::String(_) => "a text".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(_) => "true or false".to_owned(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a section".to_owned(),
    };
    let problem =
        ClusterFileProblem::Kind { key: key.to_owned(), expected: expected.to_owned(), found };
    Fault::new(span, problem)
}
