//! Parsers of options that accept one word of a list.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};

/// A word that an option does not take, although users may expect it.
pub struct Refused {
    /// The word.
    pub word: &'static str,
    /// Why it is refused, and what to do instead.
    pub instead: &'static str,
}

/// Returns the parser of an option whose values are the words of `table`. Each row of the table has
/// a word, the value that it stands for, and its help text.
pub fn words<T: Copy + Send + Sync + 'static>(
    table: &'static [(&'static str, T, &'static str)],
) -> ValueParser {
    words_and_refused(table, &[])
}

/// Returns the same parser as [`words`], whose error for each word of `refused` says what to do
/// instead. Neither help nor completion has these words.
pub fn words_and_refused<T: Copy + Send + Sync + 'static>(
    table: &'static [(&'static str, T, &'static str)],
    refused: &'static [Refused],
) -> ValueParser {
    let possible = table.iter().map(|(word, _, help)| PossibleValue::new(*word).help(*help));
    let hidden = refused.iter().map(|refused| PossibleValue::new(refused.word).hide(true));
    let value = |word: String| {
        if let Some(refused) = refused.iter().find(|refused| refused.word == word) {
            return Err(refused.instead);
        }
        let row = table.iter().find(|(own, ..)| *own == word);
        row.map(|(_, value, _)| *value).ok_or("unknown word")
    };
    ValueParser::new(PossibleValuesParser::new(possible.chain(hidden)).try_map(value))
}
