//! Escapes text from other sources (nodes, ssh, names of files and objects) for a terminal, so that
//! it cannot move the cursor, change colours, or reorder text.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

/// Escapes characters that control a terminal: control characters (and so all escape sequences),
/// line and paragraph separators, and marks that reorder text. Line feeds and tabs are kept.
pub fn text(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// Escapes text for a single line: all characters that [`text`] escapes, and line feeds and tabs.
pub fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// Returns the name of a file for a message: one line, in which different names never look alike. A
/// backslash is doubled, bytes that are no text become `\xHH`, and characters above them `\u{HEX}`.
pub fn name(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => shown.push_str("\\\\"),
                // `\xHH` would be a byte that is no text.
                '\u{80}'..='\u{9f}' => {
                    let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
                }
                c => shown.push_str(&line(c.encode_utf8(&mut [0; 4]))),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Returns a path for a message as [`name`] does.
pub fn path(path: impl AsRef<Path>) -> String {
    name(path.as_ref().as_os_str().as_encoded_bytes())
}

/// Returns a path, or another word, for a command line that is to be pasted into a shell. What does
/// not stay itself there is quoted; control characters and bytes that are no text are escaped.
pub fn word(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref().as_encoded_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/.:_-@,+=".contains(byte);
    if word.iter().all(is_plain) && !word.is_empty() {
        return String::from_utf8_lossy(word).into_owned();
    }
    format!("'{}'", bytes(word).replace('\'', r"'\''"))
}

/// Returns the bytes of a name in hexadecimal, for a JSON object beside [`name`]; `None` if the
/// name is text, which a JSON string keeps exactly.
pub fn name_bytes(bytes: &[u8]) -> Option<String> {
    let is_text = str::from_utf8(bytes).is_ok();
    (!is_text).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the name of a file for a JSON object: exactly, if it is text, otherwise as [`name`]
/// does.
pub fn json_name(bytes: &[u8]) -> String {
    str::from_utf8(bytes).map_or_else(|_| name(bytes), str::to_owned)
}

/// Escapes bytes as [`text`] does; invalid UTF-8 becomes `\xHH`.
pub fn bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&text(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Escapes the characters of a JSON document that control a terminal. JSON escapes are used, so
/// that the strings in the document keep their values.
pub fn json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && is_obeyed(c) {
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns whether a terminal would obey a character instead of displaying it.
pub fn is_obeyed(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    let reorders = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || separates || reorders
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if stays(c) || !is_obeyed(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            c if u32::from(c) < 0x100 => {
                let _ = write!(shown, "\\x{:02x}", u32::from(c));
            }
            c => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let hostile = "a\x1b[2Jb\r\x07\u{9b}31m\u{202e}c\u{2066}\u{200f}\u{61c}\u{2028}\x7f";
        let shown = "a\\x1b[2Jb\\r\\x07\\x9b31m\\u{202e}c\\u{2066}\\u{200f}\\u{61c}\\u{2028}\\x7f";
        assert_eq!(text(hostile), shown);
        assert_eq!(line(hostile), shown);
        assert!(!text(hostile).chars().any(is_obeyed));
    }

    #[test]
    fn other_text_stays_as_it_is() {
        let plain = "ok      n[1-2]: 10 µs, größer, 界, שלום, \\x1b, 🌿\n\tsecond line\n";
        assert_eq!(text(plain), plain);
        assert_eq!(line("one\ntwo\t"), "one\\ntwo\\t");
    }

    #[test]
    fn strings_in_json_stay_what_they_are() {
        let hostile = "a\x1b[2J\u{9b}\u{202e}\x7f\n\"é";
        let text = json(&format!("{{\n  {}\n}}", serde_json::to_string(hostile).unwrap()));
        assert!(!text.chars().any(|c| c != '\n' && is_obeyed(c)), "{text}");
        let inner = text.trim_start_matches("{\n  ").trim_end_matches("\n}");
        assert_eq!(serde_json::from_str::<String>(inner).unwrap(), hostile);
    }

    #[test]
    fn different_names_never_look_alike() {
        let names: [&[u8]; 12] = [
            b"a\nb",
            b"a\\nb",
            b"a\\\\nb",
            b"a\xffb",
            b"a\xfeb",
            b"a\\xffb",
            "a\u{fffd}b".as_bytes(),
            "\u{9b}".as_bytes(),
            b"\x9b",
            b"\\x9b",
            b"?",
            b"\t",
        ];
        let shown: Vec<String> = names.iter().map(|bytes| name(bytes)).collect();
        for (at, one) in shown.iter().enumerate() {
            assert!(!one.chars().any(is_obeyed), "{one}");
            assert!(!shown[at + 1..].contains(one), "{one}");
            // The output escapes nothing a second time.
            assert_eq!(text(one), *one);
        }
        assert_eq!(name("gr\u{f6}\u{df}e 1".as_bytes()), "größe 1");
        assert_eq!((name_bytes(b"a\xff"), name_bytes(b"a\n")), (Some("61ff".to_owned()), None));
        assert_eq!(
            (json_name(b"a\xff"), json_name(b"a\\")),
            ("a\\xff".to_owned(), "a\\".to_owned())
        );
    }

    #[test]
    fn words_can_be_pasted() {
        assert_eq!(word("/a/b-1.c"), "/a/b-1.c");
        assert_eq!(word("/a b/it's \\"), r"'/a b/it'\''s \'");
        assert_eq!((word("~x"), word("")), ("'~x'".to_owned(), "''".to_owned()));
    }

    #[test]
    fn bytes_need_be_no_text() {
        assert_eq!(bytes(b"a\xff\x1b]0;t\x07\xc3\xa4\n"), "a\\xff\\x1b]0;t\\x07\u{e4}\n");
    }
}
