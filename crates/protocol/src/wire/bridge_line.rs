//! The line with which a bridge reports whether it has reached its agent. A bridge is a login on a
//! node that passes bytes on between the head and an agent whose port the head cannot reach.

use std::fmt;

use crate::bounds;

/// The line that a bridge prints before any byte of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BridgeLine {
    /// The bytes of the agent follow.
    Open,
    /// Nothing listens on the agent's port, and why the connection failed.
    Refused(String),
    /// The connection failed, and why.
    Failed(String),
}

impl BridgeLine {
    const WORD: &str = "garland-bridge";

    /// Parses a line of a login's output; `None` if the line is another one.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let rest = line.trim_end().strip_prefix(Self::WORD)?.strip_prefix(' ')?;
        match rest.split_once(' ').unwrap_or((rest, "")) {
            ("open", "") => Some(Self::Open),
            ("refused", why) => Some(Self::Refused(reason(why))),
            ("failed", why) => Some(Self::Failed(reason(why))),
            _ => None,
        }
    }
}

/// Returns a reason that a node gives, cut to what a verdict has room for.
fn reason(text: &str) -> String {
    let mut text = text.to_owned();
    bounds::cut(&mut text, bounds::FACT_MAX);
    text
}

impl fmt::Display for BridgeLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => write!(f, "{} open", Self::WORD),
            Self::Refused(why) => write!(f, "{} refused {why}", Self::WORD),
            Self::Failed(why) => write!(f, "{} failed {why}", Self::WORD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_parsed_as_it_is_printed_and_no_other_line_is() {
        let why = || "connection refused".to_owned();
        for line in [BridgeLine::Open, BridgeLine::Refused(why()), BridgeLine::Failed(why())] {
            assert_eq!(BridgeLine::parse(&format!("{line}\n")), Some(line));
        }
        for other in ["garland-bridge", "garland-bridge openly", "open", "garland-agent 1 2", ""] {
            assert_eq!(BridgeLine::parse(other), None, "{other}");
        }
    }
}
