//! Separates Rust code from comments and literals, so that rules do not mistake a word in a string
//! or a brace in a character literal for code.
//!
//! This is a lexer, not a parser. It recognises line comments, nested block comments, strings with
//! escapes, raw strings, and characters as opposed to lifetimes. The output has the length and the
//! line breaks of the input, so offsets are valid in both.

/// The code of a Rust file.
#[derive(Default)]
pub(crate) struct Scanned {
    /// The code; comments and the contents of literals are replaced by spaces.
    pub(crate) code: String,
}

impl Scanned {
    /// Scans `text`.
    pub(crate) fn new(text: &str) -> Self {
        let mut scan = Scan { text: text.as_bytes(), at: 0, code: Vec::with_capacity(text.len()) };
        while scan.at < scan.text.len() {
            scan.step();
        }
        Self { code: String::from_utf8_lossy(&scan.code).into_owned() }
    }
}

/// Returns the line, counted from 1, of byte `offset`.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns the offsets of `word` in `code` where no identifier character is on either side.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = at.checked_sub(1).map(|i| bytes[i]);
        let after = bytes.get(at + word.len()).copied();
        !before.is_some_and(in_identifier) && !after.is_some_and(in_identifier)
    })
}

/// Returns the part of a file before its unit tests.
pub(crate) fn before_tests(code: &str) -> &str {
    code.find("#[cfg(test)]\nmod tests {").map_or(code, |at| &code[..at])
}

/// Returns whether `byte` may be part of an identifier.
pub(crate) fn in_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the identifier at the start of `code` after white space, or an empty string.
pub(crate) fn identifier(code: &str) -> &str {
    let code = code.trim_start();
    let end = code.bytes().position(|byte| !in_identifier(byte));
    &code[..end.unwrap_or(code.len())]
}

/// Returns the offset just past the brace that closes the one at `open`, or the end of the code.
pub(crate) fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (i, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    code: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    /// A comment, or the content of a literal.
    Other,
}

impl Scan<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let inside_word = self.at > 0 && in_identifier(self.text[self.at - 1]);
        if rest.starts_with(b"//") {
            let end = rest.iter().position(|&byte| byte == b'\n');
            self.take(end.unwrap_or(rest.len()), Kind::Other);
        } else if rest.starts_with(b"/*") {
            self.take(block_comment(rest), Kind::Other);
        } else if rest[0] == b'"' {
            self.literal(quoted(rest, b'"'));
        } else if rest[0] == b'\'' {
            match character(rest) {
                Some(end) => self.literal(end),
                None => self.take(1, Kind::Code),
            }
        } else if let (false, Some(end)) = (inside_word, raw_string(rest)) {
            self.literal(end);
        } else {
            self.take(1, Kind::Code);
        }
    }

    /// Takes a literal of `len` bytes; keeps its first and last byte, so that a token remains.
    fn literal(&mut self, len: usize) {
        self.take(1, Kind::Code);
        self.take(len.saturating_sub(2), Kind::Other);
        if len > 1 {
            self.take(1, Kind::Code);
        }
    }

    fn take(&mut self, len: usize, kind: Kind) {
        let end = (self.at + len).min(self.text.len());
        for &byte in &self.text[self.at..end] {
            let blank = if byte == b'\n' { b'\n' } else { b' ' };
            self.code.push(if kind == Kind::Code { byte } else { blank });
        }
        self.at = end;
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut i = 0;
    while i < rest.len() {
        if rest[i..].starts_with(b"/*") {
            depth += 1;
            i += 2;
        } else if rest[i..].starts_with(b"*/") {
            depth -= 1;
            i += 2;
            if depth == 0 {
                return i;
            }
        } else {
            i += 1;
        }
    }
    rest.len()
}

/// Returns the length of a literal with escapes that begins and ends with `quote`.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut i = 1;
    while i < rest.len() {
        match rest[i] {
            b'\\' => i += 2,
            byte if byte == quote => return i + 1,
            _ => i += 1,
        }
    }
    rest.len()
}

/// Returns the length of a character literal; `None` if this is a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    match rest.get(1)? {
        b'\\' => Some(quoted(rest, b'\'')),
        &first => {
            let width = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
        }
    }
}

/// Returns the length of `r"..."`, `r#"..."#`, `br"..."` or `cr"..."`.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let start = match rest {
        [b'r', ..] => 1,
        [b'b' | b'c', b'r', ..] => 2,
        _ => return None,
    };
    let hashes = rest[start..].iter().take_while(|&&b| b == b'#').count();
    if rest.get(start + hashes) != Some(&b'"') {
        return None;
    }
    let body = start + hashes + 1;
    let end = rest[body..]
        .windows(hashes + 1)
        .position(|window| window[0] == b'"' && window[1..].iter().all(|&b| b == b'#'));
    Some(end.map_or(rest.len(), |end| body + end + hashes + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_are_no_code() {
        let text = "let a = \"{ // no\"; // yes }\nlet b = '{'; /* a /* b */ { */ fn c<'x>() {}";
        let scanned = Scanned::new(text);
        assert_eq!(scanned.code.len(), text.len());
        assert_eq!(scanned.code.matches('{').count(), 1, "{}", scanned.code);
        assert_eq!(line_of(text, text.find("let b").unwrap()), 2);
    }

    #[test]
    fn raw_strings_end_where_their_hashes_do() {
        let scanned = Scanned::new("r#\"a \" { \"# + br\"{\" + for_r\"{\" + 'é' + '\\'' + b'{'");
        assert!(!scanned.code.contains('{'), "{}", scanned.code);
    }

    #[test]
    fn words_have_borders() {
        let hits: Vec<_> = words("mod a; modest; a_mod mod", "mod").collect();
        assert_eq!(hits, [0, 21]);
        assert_eq!(identifier("  next_one: u8"), "next_one");
        assert_eq!(closing("f { { } } g", 2), 9);
    }
}
