//! Names with ranges in brackets.

use std::ops::Range;

use super::error::NodeListProblem;
use super::limits::LONGEST_NAME;

/// The maximum number of digits of a number; longer sequences of digits are text.
pub(super) const LONGEST_NUMBER: usize = 18;

/// A problem and its byte range in the expression.
pub(super) type Fault = (Range<usize>, NodeListProblem);

/// A name with brackets, such as `r[1-2]n[01-20]`.
#[derive(Debug)]
pub(super) struct Pattern<'a> {
    pieces: Vec<Piece<'a>>,
}

#[derive(Debug)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Numbers(Vec<Numbers>),
}

/// One range in brackets; `low <= high` and `step > 0`.
#[derive(Debug)]
pub(super) struct Numbers {
    low: u64,
    high: u64,
    step: u64,
    /// The width to which numbers are padded with zeros; 0 without padding.
    width: usize,
}

impl<'a> Pattern<'a> {
    /// Returns a pattern, or an error if its names are too long. The limit also bounds the
    /// recursion of [`each`](Self::each).
    pub(super) fn new(pieces: Vec<Piece<'a>>) -> Result<Self, NodeListProblem> {
        let longest: usize = pieces.iter().map(Piece::longest).sum();
        if longest > LONGEST_NAME {
            return Err(NodeListProblem::LongName(longest));
        }
        Ok(Self { pieces })
    }

    /// Returns the number of names, saturating.
    pub(super) fn count(&self) -> u64 {
        self.pieces.iter().map(Piece::count).fold(1, u64::saturating_mul)
    }

    /// Calls `take` with each name in order; the leftmost bracket varies slowest.
    pub(super) fn each<E>(&self, take: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        spell(&self.pieces, &mut String::new(), take)
    }
}

fn spell<E>(
    pieces: &[Piece<'_>],
    name: &mut String,
    take: &mut impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    use std::fmt::Write as _;
    let Some((piece, rest)) = pieces.split_first() else {
        return take(name);
    };
    let before = name.len();
    match piece {
        Piece::Text(text) => {
            name.push_str(text);
            spell(rest, name, take)?;
        }
        Piece::Numbers(ranges) => {
            for range in ranges {
                for index in 0..range.count() {
                    let number = range.low + index * range.step;
                    write!(name, "{number:0width$}", width = range.width)
                        .expect("a string takes any text");
                    spell(rest, name, take)?;
                    name.truncate(before);
                }
            }
        }
    }
    name.truncate(before);
    Ok(())
}

impl Piece<'_> {
    fn count(&self) -> u64 {
        match self {
            Self::Text(_) => 1,
            Self::Numbers(ranges) => ranges.iter().map(Numbers::count).fold(0, u64::saturating_add),
        }
    }

    fn longest(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Numbers(ranges) => ranges.iter().map(Numbers::longest).max().unwrap_or(0),
        }
    }
}

impl Numbers {
    /// Parses `7`, `01-20` or `1-9/2`; `span` is its byte range in the expression.
    pub(super) fn read(text: &str, span: Range<usize>) -> Result<Self, Fault> {
        let not_a_range =
            || (span.clone(), NodeListProblem::Range(text.chars().take(40).collect()));
        let (ends, step) = match text.split_once('/') {
            Some((ends, step)) => (ends, Some(step.trim())),
            None => (text, None),
        };
        let (low, high) = match (ends.split_once('-'), step) {
            (Some((low, high)), _) => (low.trim(), high.trim()),
            (None, None) => (ends, ends),
            (None, Some(_)) => return Err(not_a_range()),
        };
        let number = |digits: &str| match digits.len() {
            0 => Err(not_a_range()),
            _ if !digits.bytes().all(|b| b.is_ascii_digit()) => Err(not_a_range()),
            1..=LONGEST_NUMBER => digits.parse::<u64>().map_err(|_| not_a_range()),
            many => Err((span.clone(), NodeListProblem::LongNumber(many))),
        };
        let numbers = Self {
            low: number(low)?,
            high: number(high)?,
            step: step.map_or(Ok(1), number)?,
            width: padding(low),
        };
        if numbers.low > numbers.high {
            let problem = NodeListProblem::Backwards { low: low.into(), high: high.into() };
            return Err((span, problem));
        }
        if numbers.step == 0 {
            return Err((span, NodeListProblem::ZeroStep));
        }
        let fits =
            if padding(high) > 0 { high.len() == low.len() } else { high.len() >= low.len() };
        if !fits {
            let problem = NodeListProblem::Padding { low: low.into(), high: high.into() };
            return Err((span, problem));
        }
        Ok(numbers)
    }

    fn count(&self) -> u64 {
        (self.high - self.low) / self.step + 1
    }

    fn longest(&self) -> usize {
        let digits = self.high.checked_ilog10().map_or(1, |log| log as usize + 1);
        digits.max(self.width)
    }
}

/// Returns the width of a number with leading zeros, or 0 if it has none.
pub(super) fn padding(digits: &str) -> usize {
    if digits.len() > 1 && digits.starts_with('0') { digits.len() } else { 0 }
}
