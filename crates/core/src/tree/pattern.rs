//! What is left out of a tree, by patterns as rsync's.

use thiserror::Error;

/// A pattern. Without a slash inside it is one of names, in whatever directory; with one in front it
/// begins at the top of the tree; one behind it means directories only. `*` and `?` stand for anything
/// but a slash, `**` for anything, `[a-z]` and `[!a-z]` for one of these bytes or none of them; a
/// backslash takes the next byte as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Vec<u8>,
    tokens: Vec<Token>,
    anchored: bool,
    folders_only: bool,
    /// It is matched with a path and not with a name.
    path: bool,
}

/// Why a pattern can't be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// Nothing is meant by it.
    #[error("a pattern without a name in it")]
    Empty,
    /// A bracket is open.
    #[error("the bracket at byte {0} isn't closed")]
    Open(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// `?`
    Any,
    /// `*`
    Star,
    /// `**`
    Deep,
    /// Ranges of bytes, and whether it is none of them that is meant.
    Set(Vec<(u8, u8)>, bool),
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it is empty, or a bracket isn't closed.
    pub fn parse(text: &[u8]) -> Result<Self, PatternError> {
        let anchored = text.starts_with(b"/");
        let inner = text.strip_prefix(b"/").unwrap_or(text);
        let folders_only = inner.ends_with(b"/");
        let inner = inner.strip_suffix(b"/").unwrap_or(inner);
        if inner.is_empty() {
            return Err(PatternError::Empty);
        }
        let tokens = tokens(inner)?;
        let path =
            tokens.iter().any(|token| matches!(token, Token::Deep | Token::Byte(b'/'))) || anchored;
        Ok(Self { text: text.to_vec(), tokens, anchored, folders_only, path })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether it means what lies at `path` in the tree, names with slashes between them.
    #[must_use]
    pub fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        if self.anchored {
            return self.fits(path);
        }
        let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
        if !self.path {
            return self.fits(&path[name..]);
        }
        // It may begin at any name of the path.
        let later = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        std::iter::once(0).chain(later.map(|(at, _)| at + 1)).any(|at| self.fits(&path[at..]))
    }

    /// Keeps all places in the pattern that the bytes so far may have led to: no pattern takes
    /// longer than its length times theirs.
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

    /// Stars may stand for nothing.
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
                at += 1;
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

/// The set whose bracket has been read; a closing one that comes first is a member.
fn set(text: &[u8], at: &mut usize) -> Result<Token, PatternError> {
    let open = *at - 1;
    let none = matches!(text.get(*at), Some(b'!' | b'^'));
    *at += usize::from(none);
    let mut ranges = Vec::new();
    loop {
        let byte = *text.get(*at).ok_or(PatternError::Open(open))?;
        *at += 1;
        if byte == b']' && !ranges.is_empty() {
            return Ok(Token::Set(ranges, none));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn means(pattern: &str, path: &str) -> bool {
        let pattern = Pattern::parse(pattern.as_bytes()).unwrap();
        let is_folder = path.ends_with('/');
        pattern.matches(path.trim_end_matches('/').as_bytes(), is_folder)
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
        ];
        for (pattern, path) in not {
            assert!(!means(pattern, path), "{pattern} doesn't mean {path}");
        }
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
    }
}
