//! Splits the text of a node list into items.

use std::net::Ipv6Addr;
use std::ops::Range;

use super::error::NodeListProblem;
use super::pattern::{Fault, Numbers, Pattern, Piece};

/// One item of a node list: a name with its ranges, `^file`, or `@group`.
#[derive(Debug)]
pub(super) struct Item<'a> {
    /// Whether a `!` precedes the item, so that its names are removed.
    pub(super) exclude: bool,
    pub(super) kind: ItemKind<'a>,
    pub(super) span: Range<usize>,
}

#[derive(Debug)]
pub(super) enum ItemKind<'a> {
    Names(Pattern<'a>),
    File(&'a str),
    Group(&'a str),
}

/// A scanner over the items of a node list.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Whether an item has been read, so that a `!` has names to exclude.
    any: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, any: false }
    }

    /// Returns the next item, or `None` at the end.
    pub(super) fn next_item(&mut self) -> Result<Option<Item<'a>>, Fault> {
        let Some(exclude) = self.pass_separators()? else {
            return Ok(None);
        };
        let start = self.at;
        let kind = match self.peek() {
            Some(b'^') => ItemKind::File(self.file()?),
            Some(b'@') => ItemKind::Group(self.group()?),
            _ => ItemKind::Names(self.pattern()?),
        };
        if !self.at_end_of_item() {
            return Err(self.bad_character());
        }
        self.any = true;
        Ok(Some(Item { exclude, kind, span: start..self.at }))
    }

    /// Moves to the next item; returns whether a `!` precedes it, or `None` at the end of the text.
    fn pass_separators(&mut self) -> Result<Option<bool>, Fault> {
        let mut comma = None;
        let mut bang = None;
        loop {
            let here = self.at..self.at + 1;
            match self.peek() {
                Some(b',') if comma.is_some() || bang.is_some() || !self.any => {
                    return Err((here, NodeListProblem::EmptyItem));
                }
                Some(b',') => comma = Some(here),
                Some(b'!') if bang.is_some() || !self.any => {
                    return Err((here, NodeListProblem::StrayExclusion));
                }
                Some(b'!') => bang = Some(here),
                Some(b'#') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                Some(byte) if byte.is_ascii_whitespace() => {}
                Some(_) => return Ok(Some(bang.is_some())),
                None => break,
            }
            self.at += 1;
        }
        match (comma, bang) {
            (_, Some(bang)) => Err((bang, NodeListProblem::StrayExclusion)),
            (Some(comma), None) => Err((comma, NodeListProblem::EmptyItem)),
            (None, None) => Ok(None),
        }
    }

    /// Reads `^path`, up to the next separator; returns the path.
    fn file(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        self.at += 1;
        let path = self.take_while(|byte| !ends_item(byte));
        if path.is_empty() { Err((start..self.at, NodeListProblem::NoPath)) } else { Ok(path) }
    }

    /// Reads `@name`; returns the name.
    fn group(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        self.at += 1;
        let name = self.take_while(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if name.is_empty() { Err((start..self.at, NodeListProblem::NoGroupName)) } else { Ok(name) }
    }

    fn pattern(&mut self) -> Result<Pattern<'a>, Fault> {
        let start = self.at;
        let mut pieces = Vec::new();
        while let Some(byte) = self.peek().filter(|byte| !ends_item(*byte)) {
            if let Some(address) = self.address(start) {
                pieces.extend(address.into_iter().map(Piece::Text));
                break;
            }
            pieces.push(match byte {
                b'[' => Piece::Numbers(self.brackets()?),
                b']' => return Err((self.at..self.at + 1, NodeListProblem::Nesting)),
                _ if is_name_byte(byte) => Piece::Text(self.name_text(pieces.is_empty())?),
                _ => return Err(self.bad_character()),
            });
        }
        let read = &self.text[start..self.at];
        if let Some(mark) = read.chars().next_back().filter(|c| matches!(c, ':' | '@')) {
            return Err((self.at - 1..self.at, NodeListProblem::End(mark)));
        }
        Pattern::new(pieces).map_err(|problem| (start..self.at, problem))
    }

    /// Reads an IPv6 address in brackets, as scp(1) has it, at the beginning of an item or after
    /// the `@` of a user. Returns its parts: a name neither begins nor ends with a colon, so zeros
    /// that the address leaves out there are written.
    fn address(&mut self, start: usize) -> Option<[&'a str; 3]> {
        let before = &self.text[start..self.at];
        let inside = self.text[self.at..].strip_prefix('[')?;
        let inside = &inside[..inside.find(']')?];
        let (digits, zone) = inside.split_once('%').unwrap_or((inside, "0"));
        let is_address = digits.parse::<Ipv6Addr>().is_ok() && zone.bytes().all(is_name_byte);
        if !is_address || !(before.is_empty() || before.ends_with('@')) {
            return None;
        }
        self.at += inside.len() + "[]".len();
        let zero = |is_left_out: bool| if is_left_out { "0" } else { "" };
        Some([zero(inside.starts_with(':')), inside, zero(inside.ends_with(':'))])
    }

    /// Reads the part of a name up to the next bracket; `first` if this part begins the name.
    fn name_text(&mut self, first: bool) -> Result<&'a str, Fault> {
        let start = self.at;
        let text = self.take_while(is_name_byte);
        let mut may_start = first;
        for (at, byte) in (start..).zip(text.bytes()) {
            if may_start && !(byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err((at..at + 1, NodeListProblem::Start(char::from(byte))));
            }
            may_start = byte == b'@';
        }
        Ok(text)
    }

    /// Reads ranges in brackets, such as `[1-4,7]`.
    fn brackets(&mut self) -> Result<Vec<Numbers>, Fault> {
        let open = self.at;
        self.at += 1;
        let inside = self.take_while(|byte| byte != b']' && byte != b'[');
        let start = open + 1;
        match self.peek() {
            None => return Err((open..open + 1, NodeListProblem::Unclosed)),
            Some(b'[') => return Err((self.at..self.at + 1, NodeListProblem::Nesting)),
            Some(_) => self.at += 1,
        }
        let mut ranges = Vec::new();
        let mut from = start;
        for part in inside.split(',') {
            let text = part.trim();
            let begin = from + (part.len() - part.trim_start().len());
            // An empty range has no bytes, so its span is the character after it.
            let span = begin..(begin + text.len()).max(begin + 1);
            ranges.push(Numbers::read(text, span)?);
            from += part.len() + 1;
        }
        Ok(ranges)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn at_end_of_item(&self) -> bool {
        self.peek().is_none_or(ends_item)
    }

    /// Reads bytes as long as `wanted` accepts them, and never splits a non-ASCII character.
    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !u8::try_from(c).map_or_else(|_| wanted(u8::MAX), &wanted))
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn bad_character(&self) -> Fault {
        let c = self.text[self.at..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
        let problem = match c {
            '{' | '}' => NodeListProblem::Braces,
            c => NodeListProblem::Character(c),
        };
        (self.at..self.at + c.len_utf8(), problem)
    }
}

fn ends_item(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b',' || byte == b'!'
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-_:@%".contains(&byte)
}
