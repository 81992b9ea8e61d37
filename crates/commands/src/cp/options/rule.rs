//! On which kinds of copies each option of `garland cp` has an effect. An option without an effect is
//! refused, never ignored.

use super::kind::{COPY, Kind, Kinds};

/// The kinds of copies on which an option has an effect.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The name of the option on the command line, without dashes.
    pub option: &'static str,
    /// The kinds on which the option has an effect.
    kinds: Kinds,
    /// Kinds on which the option has no effect, and the values of the option that are accepted
    /// there because they equal the default.
    same: (Kinds, &'static [&'static str]),
    /// The hint for other kinds: why the option has no effect, or what to do instead.
    pub hint: &'static str,
}

pub const ONLY_TO_NODES: &str = "it applies only to copies to nodes";

impl Rule {
    /// Returns a rule for an option that has an effect on `kinds`.
    pub const fn new(option: &'static str, kinds: Kinds, hint: &'static str) -> Self {
        Self { option, kinds, same: (0, &[]), hint }
    }

    /// Returns the rule of an option that has an effect on all copies.
    pub const fn everywhere(option: &'static str) -> Self {
        Self::new(option, COPY, "")
    }

    /// Also accepts the option on `kinds` if its value is one of `values`, which equal the default.
    pub const fn same(self, kinds: Kinds, values: &'static [&'static str]) -> Self {
        Self { same: (kinds, values), ..self }
    }

    /// Returns whether the option may have this value in a copy of this kind.
    pub fn allows(&self, kind: Kind, value: &str) -> bool {
        let (kinds, values) = self.same;
        self.kinds & kind.bit() != 0 || kinds & kind.bit() != 0 && values.contains(&value)
    }
}
