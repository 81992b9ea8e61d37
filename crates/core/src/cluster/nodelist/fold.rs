use std::borrow::Cow;
use std::collections::BTreeMap;

use super::pattern::{LONGEST_NUMBER, padding};

/// Folds a set of names into a short node list: `n[003,017-020]`.
///
/// Names that differ only in numbers are folded on every number that varies, from right to left, so
/// whole racks become `r[1-4]n[01-16]`. Zero padding is kept. The output is sorted, with numbers by
/// value, so equal sets give equal texts; duplicates count once. [`expand`](super::expand) returns
/// the same set, if the names are valid.
///
/// ```
/// use garland_core::cluster::nodelist::fold;
/// assert_eq!(fold(&["n018", "n003", "n017", "head"]), "head,n[003,017-018]");
/// ```
pub fn fold<S: AsRef<str>>(names: &[S]) -> String {
    let mut shapes: Vec<Vec<Chunk<'_>>> = names.iter().map(|name| chunks(name.as_ref())).collect();
    shapes.sort_unstable();
    shapes.dedup();
    let mut forms: BTreeMap<Vec<Option<&str>>, Vec<Entry<'_>>> = BTreeMap::new();
    for (rank, shape) in shapes.iter().enumerate() {
        let mut form = Vec::new();
        let mut fields = Vec::new();
        for chunk in shape {
            if let Chunk::Digits(_, digits) = chunk {
                fields.push(Cow::Borrowed(*digits));
            }
            form.push(if let Chunk::Text(text) = chunk { Some(*text) } else { None });
        }
        forms.entry(form).or_default().push(Entry { rank, fields });
    }
    let mut folded: Vec<(usize, String)> = Vec::new();
    for (form, mut entries) in forms {
        for field in (0..entries[0].fields.len()).rev() {
            entries = fold_field(entries, field);
        }
        folded.extend(entries.into_iter().map(|entry| (entry.rank, entry.spell(&form))));
    }
    folded.sort_unstable();
    let texts: Vec<String> = folded.into_iter().map(|(_, text)| text).collect();
    texts.join(",")
}

/// A part of a name: digits with their count, or other text. Numbers sort by length and then by
/// value, so that the numbers of one range are adjacent.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Chunk<'a> {
    Digits(usize, &'a str),
    Text(&'a str),
}

fn chunks(name: &str) -> Vec<Chunk<'_>> {
    let mut chunks = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.bytes().next() {
        let number = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != number).unwrap_or(rest.len());
        let (chunk, after) = rest.split_at(end);
        chunks.push(if number && end <= LONGEST_NUMBER {
            Chunk::Digits(end, chunk)
        } else {
            Chunk::Text(chunk)
        });
        rest = after;
    }
    chunks
}

/// Names that differ only in their numbers: all combinations of the values of `fields`. A field is
/// a number or, once folded, ranges in brackets.
struct Entry<'a> {
    /// The index, in the sorted input, of the first of these names.
    rank: usize,
    fields: Fields<'a>,
}

type Fields<'a> = Vec<Cow<'a, str>>;

impl Entry<'_> {
    fn spell(&self, form: &[Option<&str>]) -> String {
        let mut fields = self.fields.iter();
        form.iter()
            .map(|text| text.unwrap_or_else(|| fields.next().map_or("", |field| field)))
            .collect()
    }
}

/// Joins the entries that differ only in the field with the index `field`. Input and output are
/// sorted by rank.
fn fold_field<'a>(entries: Vec<Entry<'a>>, field: usize) -> Vec<Entry<'a>> {
    if entries.iter().all(|entry| entry.fields[field] == entries[0].fields[field]) {
        return entries;
    }
    let mut alike: BTreeMap<Fields<'a>, (usize, Fields<'a>)> = BTreeMap::new();
    for mut entry in entries {
        let value = std::mem::take(&mut entry.fields[field]);
        alike.entry(entry.fields).or_insert_with(|| (entry.rank, Vec::new())).1.push(value);
    }
    let mut joined: Vec<Entry<'a>> = alike
        .into_iter()
        .map(|(mut fields, (rank, mut values))| {
            fields[field] =
                if values.len() == 1 { values.remove(0) } else { Cow::Owned(ranges(&values)) };
            Entry { rank, fields }
        })
        .collect();
    joined.sort_unstable_by_key(|entry| entry.rank);
    joined
}

/// Formats sorted, distinct numbers as ranges in brackets.
fn ranges(values: &[Cow<'_, str>]) -> String {
    let mut text = String::from("[");
    let mut rest = values;
    while let Some(low) = rest.first() {
        let run = run_length(rest);
        if rest.len() < values.len() {
            text.push(',');
        }
        text.push_str(low);
        if run > 1 {
            text.push('-');
            text.push_str(&rest[run - 1]);
        }
        rest = &rest[run..];
    }
    text.push(']');
    text
}

/// Returns the number of values, from the first on, that a single range can replace.
fn run_length(values: &[Cow<'_, str>]) -> usize {
    let number = |digits: &str| digits.parse::<u64>().unwrap_or(u64::MAX);
    let width = padding(&values[0]);
    let mut follow = number(&values[0]);
    let same = values[1..].iter().take_while(|value| {
        follow = follow.saturating_add(1);
        let digits = follow.checked_ilog10().map_or(1, |log| log as usize + 1);
        number(value) == follow && value.len() == digits.max(width)
    });
    1 + same.count()
}
