//! Patterns of paths to skip or to include, with the syntax of rsync.

use thiserror::Error;

/// A pattern of paths that are skipped, or, if it begins with `+` and a space, of paths that are
/// not (`-` and a space mean the former). A pattern without a slash inside matches names in any
/// directory; one with a slash inside, or with `**`, matches the last components of paths. A
/// leading slash anchors it to the top of the tree, a trailing slash restricts it to directories.
/// `*` and `?` match anything but a slash, `**` matches anything, `[a-z]`, `[!a-z]` and `[[:alpha:]]` match
/// one byte; a backslash quotes the next byte, unless the pattern has none of these. `**/x` also matches `x`
/// at the top, and `x/***` the directory `x` with everything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Vec<u8>,
    includes: bool,
    tokens: Vec<Token>,
    anchored: bool,
    directories_only: bool,
    /// Whether the pattern is matched against paths instead of names.
    path: bool,
    /// Whether it begins with `**`, which matches the slash that no path begins with, too.
    deep_first: bool,
    /// Whether it ends in `/***`, so that a directory is matched as if its path ended in a slash.
    with_directory: bool,
}

/// The error for an invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// The pattern is empty, or only a slash.
    #[error("the pattern is empty")]
    Empty,
    /// The bracket at this byte offset is not closed.
    #[error("the bracket at byte {0} is not closed")]
    Open(usize),
    /// The class at this byte offset is unknown.
    #[error(
        "the class at byte {0} is unknown; [:alpha:], [:digit:], [:upper:] and others are known"
    )]
    Class(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
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
    /// If the pattern is empty, a bracket is not closed, or a class is unknown.
    pub fn parse(text: &[u8]) -> Result<Self, PatternError> {
        let included = text.strip_prefix(b"+ ");
        let bare = included.or_else(|| text.strip_prefix(b"- ")).unwrap_or(text);
        let anchored = bare.starts_with(b"/");
        let inner = bare.strip_prefix(b"/").unwrap_or(bare);
        let directories_only = inner.ends_with(b"/");
        let inner = inner.strip_suffix(b"/").unwrap_or(inner);
        if inner.is_empty() {
            return Err(PatternError::Empty);
        }
        let has_wildcards = inner.iter().any(|byte| b"*?[".contains(byte));
        let tokens = if has_wildcards {
            tokens(inner)?
        } else {
            inner.iter().copied().map(Token::Byte).collect()
        };
        let path =
            tokens.iter().any(|token| matches!(token, Token::Deep | Token::Byte(b'/'))) || anchored;
        Ok(Self {
            text: text.to_vec(),
            includes: included.is_some(),
            deep_first: tokens.first() == Some(&Token::Deep) && !anchored,
            with_directory: inner.ends_with(b"/***"),
            tokens,
            anchored,
            directories_only,
            path,
        })
    }

    /// Returns whether `path` is skipped: the first of `patterns` that matches it decides, and a path
    /// that none matches is not skipped.
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
        if self.deep_first || self.with_directory && is_directory {
            let first: &[u8] = if self.deep_first { b"/" } else { b"" };
            let last: &[u8] = if self.with_directory && is_directory { b"/" } else { b"" };
            return self.matches_path(&[first, path, last].concat());
        }
        self.matches_path(path)
    }

    fn matches_path(&self, path: &[u8]) -> bool {
        if self.anchored {
            return self.fits(path);
        }
        let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
        if !self.path {
            return self.fits(&path[name..]);
        }
        // The match can begin at any component of the path.
        let later = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        std::iter::once(0).chain(later.map(|(at, _)| at + 1)).any(|at| self.fits(&path[at..]))
    }

    /// Returns whether the pattern matches all of `text`. All positions that the bytes so far can
    /// have reached in the pattern are tracked, so the time is at most the product of both lengths.
    fn fits(&self, text: &[u8]) -> bool {
        let mut places = vec![false; self.tokens.len() + 1];
        places[0] = true;
        self.pass_over(&mut places);
        for &byte in text {
            let mut next = vec![false; places.len()];
            for (at, token) in self.tokens.iter().enumerate().filter(|(at, _)| places[*at]) {
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
            self.pass_over(&mut next);
            places = next;
        }
        places[self.tokens.len()]
    }

    /// For each star at a position in `places`, adds the next position: a star can match nothing.
    fn pass_over(&self, places: &mut [bool]) {
        for (at, token) in self.tokens.iter().enumerate() {
            if places[at] && matches!(token, Token::Star | Token::Deep) {
                places[at + 1] = true;
            }
        }
    }
}

fn tokens(text: &[u8]) -> Result<Vec<Token>, PatternError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        tokens.push(match byte {
            b'?' => Token::Any,
            b'*' if text.get(at) == Some(&b'*') => {
                at += text[at..].iter().take_while(|byte| **byte == b'*').count();
                Token::Deep
            }
            b'*' => Token::Star,
            b'[' => set(text, &mut at)?,
            b'\\' if at < text.len() => {
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
    let next = |at: &mut usize| {
        *at += 1;
        text.get(*at - 1).copied().ok_or(PatternError::Open(open))
    };
    loop {
        let mut byte = next(at)?;
        if byte == b']' && !ranges.is_empty() {
            return Ok(Token::Set(ranges, none));
        }
        let rest = &text[*at..];
        if byte == b'[' && rest.starts_with(b":") {
            let end =
                rest.windows(2).position(|two| two == b":]").ok_or(PatternError::Open(open))?;
            ranges.extend(class(&rest[1..end.max(1)]).ok_or(PatternError::Class(*at - 1))?);
            *at += end + 2;
            continue;
        }
        if byte == b'\\' {
            byte = next(at)?;
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

/// Returns the bytes of a class of POSIX, in the locale C.
fn class(name: &[u8]) -> Option<&'static [(u8, u8)]> {
    Some(match name {
        b"alnum" => &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')],
        b"alpha" => &[(b'A', b'Z'), (b'a', b'z')],
        b"blank" => &[(b' ', b' '), (b'\t', b'\t')],
        b"cntrl" => &[(0, 31), (127, 127)],
        b"digit" => &[(b'0', b'9')],
        b"graph" => &[(b'!', b'~')],
        b"lower" => &[(b'a', b'z')],
        b"print" => &[(b' ', b'~')],
        b"punct" => &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
        b"space" => &[(b'\t', b'\r'), (b' ', b' ')],
        b"upper" => &[(b'A', b'Z')],
        b"xdigit" => &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')],
        _ => return None,
    })
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
            ("**/x", "x"),
            ("dir/***", "dir/"),
            ("dir/***", "a/dir/b/c"),
            ("/dir/***", "dir/b"),
            ("**/dir/***", "dir/"),
            ("[[:upper:][:digit:]]", "B"),
            ("[^[:upper:]]", "b"),
            ("[a\\]]", "]"),
            ("x\\y", "x\\y"),
            ("x\\y*", "xyz"),
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
            ("/dir/***", "a/dir/"),
            ("dir/**", "dir/"),
            ("[[:upper:]]", "b"),
            ("x\\y", "xy"),
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
        assert_eq!(Pattern::parse(b"a[[:upper:"), Err(PatternError::Open(1)));
        assert_eq!(Pattern::parse(b"a[[:other:]]"), Err(PatternError::Class(2)));
    }
}
