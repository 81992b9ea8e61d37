//! Node lists that the shell has replaced by names of files, since they were not quoted: with files
//! `n1` and `n2` in the working directory, `n[1-4]` becomes the two words `n1 n2`.

use std::path::Path;

use garland_core::cluster::nodelist;

/// Returns the node list that was probably given in place of several of `words`: a run of names
/// that differ in their numbers only, and are files of the working directory.
pub fn list_of<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    list_among(words, |word| Path::new(word).exists())
}

/// Returns what helps.
pub fn advice(list: &str) -> String {
    format!("quote node lists, or the shell replaces them by names of files here: '{list}'")
}

fn list_among<'a>(
    words: impl Iterator<Item = &'a str>,
    is_file: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut run: Vec<&str> = Vec::new();
    for word in words {
        let stem = stem_of(word);
        let is_numbered = stem.len() < word.len() && !stem.contains('/') && is_file(word);
        let goes_on = run.last().is_none_or(|last| stem_of(last) == stem && *last != word);
        if is_numbered && goes_on {
            run.push(word);
        } else if run.len() > 1 {
            break;
        } else {
            run.clear();
            run.extend(is_numbered.then_some(word));
        }
    }
    (run.len() > 1).then(|| nodelist::fold(&run))
}

/// Returns a name without the number at its end.
fn stem_of(name: &str) -> &str {
    name.trim_end_matches(|digit: char| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_numbered_files_was_a_list() {
        let list = |words: &str| {
            list_among(words.split(' '), |word| ["n1", "n2", "n4", "m7", "x"].contains(&word))
        };
        assert_eq!(list("exec n1 n2 n4 -- hostname").as_deref(), Some("n[1-2,4]"));
        assert_eq!(list("up n1 n2").as_deref(), Some("n[1-2]"));
        assert_eq!(list("exec m7 n1 n2").as_deref(), Some("n[1-2]"));
        for words in ["exec n1 -- n3", "exec n1 -- x", "exec n1 m7", "exec n3 n5", "exec n1 n1"] {
            assert_eq!(list(words), None, "{words}");
        }
    }
}
