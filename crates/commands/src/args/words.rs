//! Parsers of options that accept one word of a list.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};

/// Returns the parser of an option whose values are the words of `table`. Each row of the table has
/// a word, the value that it stands for, and its help text.
pub fn words<T: Copy + Send + Sync + 'static>(
    table: &'static [(&'static str, T, &'static str)],
) -> ValueParser {
    let possible = table.iter().map(|(word, _, help)| PossibleValue::new(*word).help(*help));
    let value = |word: String| {
        let row = table.iter().find(|(own, ..)| *own == word);
        row.map(|(_, value, _)| *value).ok_or("unknown word")
    };
    ValueParser::new(PossibleValuesParser::new(possible).try_map(value))
}
