//! A published figure, to the digit.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A figure as it was published: `0.70`, `-8.88`, `7m18s` (438 seconds), or the least and the most
/// of several runs, `8.9 - 9.3`, in the order of the source. It prints as it was read.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Published {
    text: String,
    least: f64,
    most: f64,
}

/// A text that is no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a figure such as 0.70, 7m18s or 8.9 - 9.3")]
pub struct NotAFigure(String);

impl Published {
    /// Returns the least of the published values.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// Returns the largest of the published values.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// Returns the middle of the published values.
    pub fn middle(&self) -> f64 {
        self.least.midpoint(self.most)
    }

    /// Returns this figure divided by `other`, from the least to the largest quotient that the two
    /// allow. `None` unless both are above 0.
    pub fn over(&self, other: &Self) -> Option<Self> {
        if self.least <= 0.0 || other.least <= 0.0 {
            return None;
        }
        Some(Self::between(self.least / other.most, self.most / other.least))
    }

    /// Returns this figure less `other`, from the least to the largest difference that the two
    /// allow.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        Self::between(self.least - other.most, self.most - other.least)
    }

    /// Returns half a unit of the last digit of the text: 0.05 of `16.0`, 0.5 of `8`, and half a
    /// second of minutes and seconds.
    pub fn half_unit(&self) -> f64 {
        let first = self.text.split(" - ").next().unwrap_or_default();
        let decimals = first.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        0.5 * 0.1_f64.powi(i32::try_from(decimals).unwrap_or(0))
    }

    /// Creates a figure that follows from published ones.
    fn between(least: f64, most: f64) -> Self {
        let text =
            if least < most { format!("{least:.3} - {most:.3}") } else { format!("{least:.3}") };
        Self { text, least, most }
    }
}

impl FromStr for Published {
    type Err = NotAFigure;

    fn from_str(text: &str) -> Result<Self, NotAFigure> {
        let wrong = || NotAFigure(text.to_owned());
        let (first, last) = text.split_once(" - ").unwrap_or((text, text));
        let first = number(first).ok_or_else(wrong)?;
        let last = number(last).ok_or_else(wrong)?;
        Ok(Self { text: text.to_owned(), least: first.min(last), most: first.max(last) })
    }
}

/// Parses a number, or minutes and seconds such as `7m18s`, which give seconds.
fn number(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('s').and_then(|text| text.split_once('m')) {
        Some((minutes, seconds)) => {
            let (minutes, seconds): (u32, u32) = (minutes.parse().ok()?, seconds.parse().ok()?);
            f64::from(minutes) * 60.0 + f64::from(seconds)
        }
        None => text.parse().ok()?,
    };
    Some(value).filter(|value: &f64| value.is_finite())
}

impl TryFrom<String> for Published {
    type Error = NotAFigure;

    fn try_from(text: String) -> Result<Self, NotAFigure> {
        text.parse()
    }
}

impl From<Published> for String {
    fn from(published: Published) -> Self {
        published.text
    }
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}
