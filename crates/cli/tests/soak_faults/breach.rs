//! Promises that a round found broken.

/// What was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// A healthy node lacks its copy, or has no ok verdict.
    Lost,
    /// A final name has neither the old nor the new whole contents.
    Partial,
    /// The command did not end in time, or a node has no verdict.
    Hang,
    /// A process, mount or temporary file is left.
    Orphan,
    /// A verdict is not what happened.
    Verdict,
}

impl Promise {
    pub const ALL: [Self; 5] = [Self::Lost, Self::Partial, Self::Hang, Self::Orphan, Self::Verdict];

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Partial => "partial files",
            Self::Hang => "hangs",
            Self::Orphan => "orphans",
            Self::Verdict => "wrong verdicts",
        }
    }
}

/// A broken promise.
#[derive(Clone, Debug)]
pub struct Breach {
    pub promise: Promise,
    pub what: String,
}
