//! Patterns of paths to skip or to include, with the syntax of rsync.

use thiserror::Error;

/// A pattern of paths that are skipped, or, if it begins with `+` and a space, of paths that are
/// not (`-` and a space mean the former). A pattern without a slash inside matches names in any
/// directory; one with a slash inside, or with `**`, matches the last components of paths. A
/// leading slash anchors it to the top of the tree, a trailing slash restricts it to directories;
/// `/***` at the end means a directory and all that is in it, and `**/x` also means `x` at the top.
/// `*` and `?` match anything but a slash, `**` matches anything, `[a-z]`, `[!a-z]` and
/// `[[:upper:]]` match one byte; a backslash quotes the next byte if the pattern has a `*`, `?` or
/// `[`, and is itself otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Vec<u8>,
    includes: bool,
    tokens: Vec<Token>,
    anchored: bool,
    directories_only: bool,
    /// Whether the pattern ends in `/***`, of which the tokens have only `/**`.
    with_directory: bool,
    /// Whether it begins with `**`, which matches the slash before a path, too.
    deep_first: bool,
    /// Whether the pattern is matched against paths instead of names.
    path: bool,
}

/// The error for an invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// The pattern is empty, or only a slash.
    #[error("the pattern is empty")]
    Empty,
    /// The bracket at this byte offset is not closed.
    #[error("the bracket at byte {} is not closed: add ], or write \\[ for the character", _0 + 1)]
    Open(usize),
    /// No class has the name at this byte offset.
    #[error("there is no class of this name at byte {}: write one such as [[:upper:]]", _0 + 1)]
    Class(usize),
}

impl PatternError {
    /// Returns the error for a text that `length` further bytes precede.
    fn behind(self, length: usize) -> Self {
        match self {
            Self::Empty => Self::Empty,
            Self::Open(at) => Self::Open(at + length),
            Self::Class(at) => Self::Class(at + length),
        }
    }
}

/// What matches one byte of a path, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// This byte.
    Byte(u8),
    /// `?`: any byte but a slash.
    Any,
    /// `*`: any bytes but slashes.
    Star,
    /// `**`: any bytes.
    Deep,
    /// Ranges of bytes, and whether the set is negated.
    Set(Vec<(u8, u8)>, bool),
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If the pattern is empty, a bracket is not closed, or no class has a name in it.
    pub fn parse(text: &[u8]) -> Result<Self, PatternError> {
        let included = text.strip_prefix(b"+ ");
        let bare = included.or_else(|| text.strip_prefix(b"- ")).unwrap_or(text);
        let anchored = bare.starts_with(b"/");
        let inner = bare.strip_prefix(b"/").unwrap_or(bare);
        let before = text.len() - inner.len();
        let directories_only = inner.ends_with(b"/");
        let inner = inner.strip_suffix(b"/").unwrap_or(inner);
        if inner.is_empty() {
            return Err(PatternError::Empty);
        }
        let tokens = tokenize(inner).map_err(|error| error.behind(before))?;
        let path =
            tokens.iter().any(|token| matches!(token, Token::Deep | Token::Byte(b'/'))) || anchored;
        Ok(Self {
            text: text.to_vec(),
            includes: included.is_some(),
            with_directory: inner.ends_with(b"/***"),
            deep_first: tokens.first() == Some(&Token::Deep) && !anchored,
            tokens,
            anchored,
            directories_only,
            path,
        })
    }

    /// Returns whether `path` is skipped: the first of `patterns` that matches it decides, and a
    /// path that none matches is not skipped.
    pub fn exclude(patterns: &[Self], path: &[u8], is_directory: bool) -> bool {
        let first = patterns.iter().find(|pattern| pattern.matches(path, is_directory));
        first.is_some_and(|pattern| !pattern.includes)
    }

    /// Returns the text of the pattern.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns whether the pattern matches `path`, which is relative to the top of the tree.
    pub fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        if self.directories_only && !is_directory {
            return false;
        }
        if self.with_directory && is_directory {
            // The slash of `/***` stands for the end of the directory's own path.
            return self.fits_somewhere(path) || self.fits_somewhere(&[path, b"/"].concat());
        }
        self.fits_somewhere(path)
    }

    fn fits_somewhere(&self, path: &[u8]) -> bool {
        if self.anchored {
            return self.fits(path);
        }
        if self.deep_first && self.fits(&[b"/", path].concat()) {
            return true;
        }
        let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
        if !self.path {
            return self.fits(&path[name..]);
        }
        // The match can begin at any component of the path.
        walk(&self.tokens, path, true)
    }

    fn fits(&self, text: &[u8]) -> bool {
        fits(&self.tokens, text)
    }
}

/// Returns whether `tokens` match all of `text`.
pub fn fits(tokens: &[Token], text: &[u8]) -> bool {
    walk(tokens, text, false)
}

/// Returns whether `tokens` match all of `text`, or with `from_any` what follows one of its
/// slashes. All positions that the bytes so far can have reached in the pattern are tracked, so the
/// time is at most the product of both lengths: paths come from other nodes.
fn walk(tokens: &[Token], text: &[u8], from_any: bool) -> bool {
    let mut places = vec![false; tokens.len() + 1];
    let mut next = places.clone();
    places[0] = true;
    pass_over(tokens, &mut places);
    for &byte in text {
        next.fill(false);
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| places[*at]) {
            let inside = byte != b'/';
            match token {
                Token::Byte(own) => next[at + 1] |= *own == byte,
                Token::Any => next[at + 1] |= inside,
                Token::Star => next[at] |= inside,
                Token::Deep => next[at] = true,
                Token::Set(ranges, none) => {
                    let has = ranges.iter().any(|&(low, high)| (low..=high).contains(&byte));
                    next[at + 1] |= inside && has != *none;
                }
            }
        }
        next[0] |= from_any && byte == b'/';
        pass_over(tokens, &mut next);
        std::mem::swap(&mut places, &mut next);
    }
    places[tokens.len()]
}

/// For each star at a position in `places`, adds the next position: a star can match nothing.
fn pass_over(tokens: &[Token], places: &mut [bool]) {
    for (at, token) in tokens.iter().enumerate() {
        if places[at] && matches!(token, Token::Star | Token::Deep) {
            places[at + 1] = true;
        }
    }
}

/// Parses the text of a pattern. A backslash quotes the next byte if the text has a wildcard.
///
/// # Errors
/// When a bracket is not closed, or no class has the name in it.
pub fn tokenize(text: &[u8]) -> Result<Vec<Token>, PatternError> {
    let mut tokens = Vec::new();
    let has_wildcards = text.iter().any(|byte| b"*?[".contains(byte));
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        tokens.push(match byte {
            b'?' => Token::Any,
            b'*' if text.get(at) == Some(&b'*') => {
                // More stars mean no more.
                at += text[at..].iter().take_while(|byte| **byte == b'*').count();
                Token::Deep
            }
            b'*' => Token::Star,
            b'[' => set(text, &mut at)?,
            b'\\' if has_wildcards && at < text.len() => {
                at += 1;
                Token::Byte(text[at - 1])
            }
            other => Token::Byte(other),
        });
    }
    Ok(tokens)
}

/// Parses a set whose opening bracket is just before `at`, and moves `at` past the set. A closing
/// bracket that comes first is a member.
fn set(text: &[u8], at: &mut usize) -> Result<Token, PatternError> {
    let open = *at - 1;
    let none = matches!(text.get(*at), Some(b'!' | b'^'));
    *at += usize::from(none);
    let mut ranges = Vec::new();
    let first = *at;
    loop {
        if let Some(ranges_of_class) = class(text, at)? {
            ranges.extend(ranges_of_class);
            continue;
        }
        let mut byte = *text.get(*at).ok_or(PatternError::Open(open))?;
        *at += 1;
        if byte == b']' && *at > first + 1 {
            return Ok(Token::Set(ranges, none));
        }
        if byte == b'\\' {
            byte = *text.get(*at).ok_or(PatternError::Open(open))?;
            *at += 1;
        }
        match (text.get(*at), text.get(*at + 1)) {
            (Some(b'-'), Some(&high)) if high != b']' => {
                ranges.push((byte, high));
                *at += 2;
            }
            _ => ranges.push((byte, byte)),
        }
    }
}

/// A class of bytes in a set, such as `[:upper:]`.
struct Class {
    name: &'static [u8],
    ranges: &'static [(u8, u8)],
}

/// The classes of bytes, as in the C locale.
const CLASSES: [Class; 12] = [
    Class { name: b"alnum", ranges: &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')] },
    Class { name: b"alpha", ranges: &[(b'A', b'Z'), (b'a', b'z')] },
    Class { name: b"blank", ranges: &[(b' ', b' '), (b'\t', b'\t')] },
    Class { name: b"cntrl", ranges: &[(0, 31), (127, 127)] },
    Class { name: b"digit", ranges: &[(b'0', b'9')] },
    Class { name: b"graph", ranges: &[(33, 126)] },
    Class { name: b"lower", ranges: &[(b'a', b'z')] },
    Class { name: b"print", ranges: &[(32, 126)] },
    Class { name: b"punct", ranges: &[(33, 47), (58, 64), (91, 96), (123, 126)] },
    Class { name: b"space", ranges: &[(9, 13), (32, 32)] },
    Class { name: b"upper", ranges: &[(b'A', b'Z')] },
    Class { name: b"xdigit", ranges: &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')] },
];

/// Parses a class such as `[:upper:]` in a set, if one begins at `at`, and moves `at` past it.
/// Returns its ranges of bytes.
fn class(text: &[u8], at: &mut usize) -> Result<Option<&'static [(u8, u8)]>, PatternError> {
    let inside = text[*at..].strip_prefix(b"[:").and_then(|rest| {
        let end = rest.iter().position(|byte| *byte == b']')?;
        rest[..end].strip_suffix(b":")
    });
    // Otherwise the bracket is a member of the set.
    let Some(inside) = inside else { return Ok(None) };
    let known = CLASSES.iter().find(|known| known.name == inside);
    let known = known.ok_or(PatternError::Class(*at))?;
    *at += b"[::]".len() + inside.len();
    Ok(Some(known.ranges))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(pattern: &str, path: &str) -> bool {
        let pattern = Pattern::parse(pattern.as_bytes()).unwrap();
        let is_directory = path.ends_with('/');
        pattern.matches(path.trim_end_matches('/').as_bytes(), is_directory)
    }

    #[test]
    fn a_match_begins_at_any_component() {
        for text in ["a/b", "a*/b", "**b", "a/**", "?/[ab]", "a/***", "b/**/a", "a"] {
            let tokens = tokenize(text.as_bytes()).unwrap();
            for number in 0..1 << 10_u32 {
                let path: Vec<u8> =
                    (0..5).map(|at| b"ab/c"[(number >> (2 * at)) as usize & 3]).collect();
                let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
                let mut starts = std::iter::once(0).chain(slashes.map(|(at, _)| at + 1));
                let is_there = starts.any(|at| fits(&tokens, &path[at..]));
                assert_eq!(walk(&tokens, &path, true), is_there, "{text} {path:?}");
            }
        }
    }

    #[test]
    fn patterns_mean_what_they_mean_to_rsync() {
        let meant = [
            ("*.o", "a.o"),
            ("*.o", "src/deep/a.o"),
            ("/a.o", "a.o"),
            ("/src/*.o", "src/a.o"),
            ("deep/a.o", "src/deep/a.o"),
            ("cache/", "src/cache/"),
            ("a**z", "src/a/b/z"),
            ("[a-c]?", "b1"),
            ("[!a-c]", "d"),
            ("[]x]", "]"),
            ("\\*", "*"),
            ("**/x", "a/b/x"),
            ("dir/***", "dir/"),
            ("dir/***", "a/dir/b/c"),
            ("/a/dir/***", "a/dir/"),
            ("[[:upper:]x]1", "B1"),
            ("[[:upper:]x]1", "x1"),
            ("[![:digit:]]", "a"),
            ("[[:space:]-]", "-"),
            ("[[:upper]", "p"),
            ("a\\b", "a\\b"),
            ("[a]\\b", "ab"),
            ("**/x", "x"),
            ("**/dir/***", "dir/"),
            ("[a\\]]", "]"),
        ];
        for (pattern, path) in meant {
            assert!(means(pattern, path), "{pattern} means {path}");
        }
        let not = [
            ("*.o", "a.oo"),
            ("*.o", "a.o/b"),
            ("/a.o", "src/a.o"),
            ("/src/*.o", "src/deep/a.o"),
            ("cache/", "src/cache"),
            ("a*z", "a/z"),
            ("?", "ab"),
            ("[!a-c]", "a"),
            ("\\*", "a"),
            ("dir/***", "dir"),
            ("dir/**", "dir/"),
            ("/dir/***", "a/dir/"),
            ("[[:upper:]]", "b"),
            ("[![:digit:]]", "1"),
            ("a\\b", "ab"),
        ];
        for (pattern, path) in not {
            assert!(!means(pattern, path), "{pattern} doesn't mean {path}");
        }
    }

    #[test]
    fn the_first_pattern_that_matches_decides() {
        let patterns = |texts: &[&str]| -> Vec<Pattern> {
            texts.iter().map(|text| Pattern::parse(text.as_bytes()).unwrap()).collect()
        };
        let all = patterns(&["+ keep.o", "*.o", "+ /src/", "- /src*"]);
        let skipped = |path: &str| Pattern::exclude(&all, path.as_bytes(), path == "src");
        for (path, is) in
            [("a/keep.o", false), ("a/b.o", true), ("src", false), ("src2", true), ("x", false)]
        {
            assert_eq!(skipped(path), is, "{path}");
        }
        assert!(!Pattern::exclude(&[], b"x", false));
        assert_eq!(all[0].text(), b"+ keep.o");
        assert_eq!(Pattern::parse(b"+ "), Err(PatternError::Empty));
        // The byte is counted in the text as it was written.
        let unclosed = Pattern::parse(b"- /a[b/").expect_err("it is not closed").to_string();
        assert!(unclosed.starts_with("the bracket at byte 5 is not closed: add ]"), "{unclosed}");
    }

    #[test]
    fn no_pattern_takes_forever() {
        let pattern = "a*".repeat(100) + "b";
        assert!(!means(&pattern, &"a".repeat(10_000)));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert_eq!(Pattern::parse(b""), Err(PatternError::Empty));
        assert_eq!(Pattern::parse(b"/"), Err(PatternError::Empty));
        assert_eq!(Pattern::parse(b"a[b"), Err(PatternError::Open(1)));
        assert_eq!(Pattern::parse(b"a[\\"), Err(PatternError::Open(1)));
        assert_eq!(Pattern::parse(b"[[:uper:]]"), Err(PatternError::Class(1)));
    }
}
