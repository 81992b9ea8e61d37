//! Access to the tables of a configuration file by type, with positions for errors.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Fault, FormProblem, Placed};
use crate::nearest::nearest;

/// A table of a configuration file, with its title for messages.
pub struct Section<'t> {
    title: &'static str,
    span: Range<usize>,
    table: &'t DeTable<'t>,
}

/// A non-empty string with its key and position.
#[derive(Clone)]
pub struct Text<'t> {
    /// The key of the string, or `key[index]` for an element of an array.
    pub key: String,
    /// The string, which is not blank.
    pub value: &'t str,
    /// The byte range of the string in the file.
    pub span: Range<usize>,
}

impl Text<'_> {
    /// Returns `problem` with the position of this string.
    pub fn fault<P: fmt::Debug + fmt::Display>(&self, problem: P) -> Placed<P> {
        Placed::new(self.span.clone(), problem)
    }
}

impl<'t> Section<'t> {
    /// Returns the section of a table, or an error for its first key that is not in `allowed`.
    pub fn new(
        title: &'static str,
        span: Range<usize>,
        table: &'t DeTable<'t>,
        allowed: &[&'static str],
    ) -> Result<Self, Fault> {
        let unknown = table.keys().filter(|key| !allowed.contains(&key.get_ref().as_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(Self { title, span, table }),
            Some(key) => {
                let problem = FormProblem::UnknownKey {
                    key: key.get_ref().escape_debug().to_string(),
                    section: title,
                    allowed: allowed.join(", "),
                    near: nearest(key.get_ref(), allowed.iter().copied()),
                };
                Err(Fault::new(key.span(), problem))
            }
        }
    }

    /// Returns the section of a table without checking its keys, for tables whose allowed keys
    /// depend on a value in them.
    pub fn open(title: &'static str, span: Range<usize>, table: &'t DeTable<'t>) -> Self {
        Self { title, span, table }
    }

    /// Returns the section `key`, if present. Its keys must be in `allowed`; `title` is its title
    /// in messages.
    pub fn section(
        &self,
        key: &'static str,
        title: &'static str,
        allowed: &[&'static str],
    ) -> Result<Option<Self>, Fault> {
        let found = self.table_at(key)?;
        found.map(|(table, span)| Self::new(title, span, table, allowed)).transpose()
    }

    /// Returns the table `key`, if present, and its byte range.
    pub fn table_at(
        &self,
        key: &'static str,
    ) -> Result<Option<(&'t DeTable<'t>, Range<usize>)>, Fault> {
        let table = self.typed(key, &format!("a section `[{key}]`"), DeValue::as_table)?;
        Ok(table.map(|table| (table, self.span_of(key))))
    }

    /// Returns the value of `key`, of any type.
    pub fn value(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    /// Returns the value of `key` as converted by `of`; `None` if the key is missing. If `of`
    /// returns `None`, the error says that the value must be `expected`.
    fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        of: impl FnOnce(&'t DeValue<'t>) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        of(value.get_ref()).map(Some).ok_or_else(|| wrong_kind(key, expected, value))
    }

    /// Returns the string `key`, if present.
    pub fn text(&self, key: &'static str) -> Result<Option<Text<'t>>, Fault> {
        self.value(key).map(|value| text(key.to_owned(), value)).transpose()
    }

    /// Returns the string `key`; the error for a missing key shows `example`.
    pub fn needed_text(&self, key: &'static str, example: &'static str) -> Result<Text<'t>, Fault> {
        self.text(key)?.ok_or_else(|| self.missing(key, example))
    }

    /// Returns the error for a missing `key`.
    pub fn missing(&self, key: &'static str, example: &'static str) -> Fault {
        Fault::new(self.span.clone(), FormProblem::Missing { section: self.title, key, example })
    }

    /// Returns the strings of the array `key`; empty if the key is missing.
    pub fn texts(&self, key: &'static str) -> Result<Vec<Text<'t>>, Fault> {
        let items = self.typed(key, "an array of texts", DeValue::as_array)?;
        let items = items.into_iter().flatten().enumerate();
        items.map(|(index, item)| text(format!("{key}[{index}]"), item)).collect()
    }

    /// Looks up the string `key` in `words`, and returns its value; `None` if the key is missing. A
    /// string that is not in `words` is an error.
    pub fn word<T: Copy>(
        &self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| *word == text.value);
        found.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| {
            let words = words.iter().map(|(word, _)| *word);
            text.fault(FormProblem::Word {
                key,
                found: text.value.to_owned(),
                allowed: words.clone().collect::<Vec<_>>().join(", "),
                near: nearest(text.value, words),
            })
        })
    }

    /// Returns the string `key` as parsed by `read`, such as a rate; `None` if the key is missing.
    pub fn read<T, E: ToString>(
        &self,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        read(text.value).map(Some).map_err(|error| {
            text.fault(FormProblem::Value { key: text.key.clone(), reason: error.to_string() })
        })
    }

    /// Returns the number `key` in units of `1 / parts`, rounded: 0.5 is 500 if `parts` is 1000.
    /// `None` if the key is missing. `bounds` are in these units.
    pub fn parts(
        &self,
        key: &'static str,
        parts: u32,
        bounds: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Fault> {
        let one = f64::from(parts);
        let least = f64::from(*bounds.start()) / one;
        let most = f64::from(*bounds.end()) / one;
        let expected = format!("a number from {least} to {most}");
        let units = f64::from(*bounds.start())..=f64::from(*bounds.end());
        self.typed(key, &expected, |value| {
            let float = || value.as_float()?.as_str().parse::<f64>().ok();
            let number = whole(value).map(f64::from).or_else(float)?;
            Some((number * one).round()).filter(|parts| units.contains(parts)).map(|n| n as u32)
        })
    }

    /// Returns the sections of the array `key`; empty if the key is missing. Their keys must be in
    /// `allowed`; `title` is their title in messages.
    pub fn sections(
        &self,
        key: &'static str,
        title: &'static str,
        allowed: &[&'static str],
    ) -> Result<Vec<Self>, Fault> {
        let open = self.open_sections(key, title)?;
        open.into_iter()
            .map(|section| Self::new(title, section.span, section.table, allowed))
            .collect()
    }

    /// Returns the sections of the array `key` without checking their keys; empty if the key is
    /// missing.
    pub fn open_sections(
        &self,
        key: &'static str,
        title: &'static str,
    ) -> Result<Vec<Self>, Fault> {
        let expected = format!("sections `{title}` in double brackets");
        let items = self.typed(key, &expected, DeValue::as_array)?.into_iter().flatten();
        let section = |item: &'t Spanned<DeValue<'t>>| match item.get_ref() {
            DeValue::Table(table) => Ok(Self::open(title, item.span(), table)),
            _ => Err(wrong_kind(key, &expected, item)),
        };
        items.map(section).collect()
    }

    /// Returns the boolean `key`; `None` if the key is missing.
    pub fn boolean(&self, key: &'static str) -> Result<Option<bool>, Fault> {
        self.typed(key, "true or false", DeValue::as_bool)
    }

    /// Returns the strings of the array `key`, or its value if that is a single string; empty if
    /// the key is missing.
    pub fn one_or_more(&self, key: &'static str) -> Result<Vec<Text<'t>>, Fault> {
        match self.value(key).map(Spanned::get_ref) {
            Some(DeValue::String(_)) => Ok(self.text(key)?.into_iter().collect()),
            _ => self.texts(key),
        }
    }

    /// Returns the byte range of the value of `key`, or of the section if the key is missing.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.value(key).map_or_else(|| self.span.clone(), Spanned::span)
    }

    /// Returns the integer `key`, which must be within `bounds`; `None` if the key is missing.
    pub fn integer(
        &self,
        key: &'static str,
        bounds: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Fault> {
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        self.typed(key, &expected, |value| whole(value).filter(|number| bounds.contains(number)))
    }
}

fn whole(value: &DeValue<'_>) -> Option<u32> {
    let integer = value.as_integer()?;
    u32::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// Returns `value` as a string that is not blank; `key` is its name in errors.
pub fn text<'t>(key: String, value: &'t Spanned<DeValue<'t>>) -> Result<Text<'t>, Fault> {
    match value.get_ref() {
        DeValue::String(text) if text.trim().is_empty() => {
            Err(Fault::new(value.span(), FormProblem::Empty(key)))
        }
        DeValue::String(text) => Ok(Text { key, value: text, span: value.span() }),
        _ => Err(wrong_kind(&key, "a text in quotes", value)),
    }
}

/// Returns the error for a value of another type than `expected`.
pub fn wrong_kind(key: &str, expected: &str, value: &Spanned<DeValue<'_>>) -> Fault {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(_) => "true or false".to_owned(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a section".to_owned(),
    };
    let problem = FormProblem::Kind { key: key.to_owned(), expected: expected.to_owned(), found };
    Fault::new(value.span(), problem)
}
