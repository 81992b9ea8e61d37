//! The signs of figures, tables and frames where the locale's characters are not UTF-8: a terminal
//! of ISO 8859-1 shows `Â·` for `·`. All text that a person reads goes through [`fitting`].

use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::OnceLock;

/// The variables that name the locale's characters. The first one counts that is not empty.
const VARIABLES: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

/// Returns text with the signs that the locale has. Other characters, as of names, stay: their
/// bytes are those of the file system.
pub fn fitting(text: &str) -> Cow<'_, str> {
    static IS_UTF8: OnceLock<bool> = OnceLock::new();
    let is_utf8 = *IS_UTF8.get_or_init(|| is_utf8(|variable| std::env::var_os(variable)));
    if is_utf8 || text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(in_ascii(text)) }
}

/// Returns whether the locale has UTF-8. A session without any variable, such as a container's,
/// says nothing of its terminal, which then has UTF-8 as almost all have.
fn is_utf8(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = VARIABLES.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let Some(locale) = set else { return true };
    let locale = locale.to_string_lossy().to_lowercase();
    let charset = locale.split_once('.').map_or("", |(_, charset)| charset);
    let charset = charset.split('@').next().unwrap_or_default();
    matches!(charset, "utf-8" | "utf8")
}

fn in_ascii(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match sign(c) {
            Some(instead) => shown.push_str(instead),
            None => shown.push(c),
        }
    }
    shown
}

/// Returns what stands for a sign of this program's own; `None` for all other characters. All but
/// one have one column, so that tables stay straight.
const fn sign(c: char) -> Option<&'static str> {
    Some(match c {
        'µ' => "u",
        '·' | '─' | '▁' => "-",
        '│' => "|",
        '═' | '▃' => "=",
        '…' => "~",
        '±' => "+-",
        '×' => "x",
        '\u{2500}'..='\u{257f}' => "+",
        // Heights and lengths of bars.
        '▂' | '▏' | '▎' | '▍' | '▌' => ":",
        '▄' | '▋' | '▊' => "+",
        '▅' | '▉' => "*",
        '▆' => "%",
        '▇' => "@",
        '█' => "#",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_utf8_with(all: &str, ctype: &str, lang: &str) -> bool {
        is_utf8(|name| {
            let value = match name {
                "LC_ALL" => all,
                "LC_CTYPE" => ctype,
                "LANG" => lang,
                other => panic!("{other} does not count"),
            };
            Some(OsString::from(value))
        })
    }

    #[test]
    fn the_first_variable_that_is_not_empty_names_the_characters() {
        assert!(is_utf8_with("C.UTF-8", "C", "C"));
        assert!(!is_utf8_with("C", "C.UTF-8", "de_DE.UTF-8"));
        assert!(!is_utf8_with("", "POSIX", "de_DE.UTF-8"));
        assert!(is_utf8_with("", "", "de_DE.utf8@euro"));
        assert!(!is_utf8_with("", "", "de_DE.ISO-8859-15@euro"));
        assert!(!is_utf8_with("", "", "de_DE"));
        assert!(is_utf8_with("", "", ""));
    }

    #[test]
    fn the_signs_of_figures_and_frames_are_ascii_without_utf8() {
        let utf8 = "time 1 s · 4.1 µs ± 2 │ ┌──┐ ═╤═ na… ▁▂▃▄▅▆▇█ ▏▎▍▌▋▊▉";
        let shown = "time 1 s - 4.1 us +- 2 | +--+ =+= na~ -:=+*%@# ::::++*";
        assert_eq!(in_ascii(utf8), shown);
        assert_eq!(in_ascii("größe 界"), "größe 界", "names keep their bytes");
    }
}
