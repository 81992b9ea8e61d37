//! On which kinds of copies each option of `garland cp` has an effect. An option without an effect
//! is refused, never ignored.

use super::kind::{COPY, Kind, Kinds, SPOOL};

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
    hint: &'static str,
    /// The hint for a spool that may not have the option.
    spool_hint: &'static str,
}

pub const ONLY_TO_NODES: &str = "it applies only to copies to nodes";

const ONLY_OF_COPY: &str = "nodes that join use the options of the copy's own command; \
     only --quiet and --json can be combined with --join";

impl Rule {
    /// Returns a rule for an option that has an effect on `kinds`.
    pub const fn new(option: &'static str, kinds: Kinds, hint: &'static str) -> Self {
        Self { option, kinds, same: (0, &[]), hint, spool_hint: "" }
    }

    /// Returns the rule of an option that has an effect on all copies, but not on those of a spool.
    pub const fn everywhere(option: &'static str) -> Self {
        Self::new(option, COPY, "")
    }

    /// Also accepts the option on `kinds` if its value is one of `values`, which equal the default.
    pub const fn same(self, kinds: Kinds, values: &'static [&'static str]) -> Self {
        Self { same: (kinds, values), ..self }
    }

    /// Also accepts the option for the copies of a spool, on all of which it has an effect.
    pub const fn spooled(self) -> Self {
        Self { kinds: self.kinds | SPOOL, ..self }
    }

    /// Sets the hint for spools, which may not have the option.
    pub const fn not_spooled(self, spool_hint: &'static str) -> Self {
        Self { spool_hint, ..self }
    }

    /// Returns why the option has no effect on a copy of this kind, or what to do instead; empty if
    /// its name says enough.
    pub const fn hint(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Join => ONLY_OF_COPY,
            Kind::Spool => self.spool_hint,
            _ => self.hint,
        }
    }

    /// Returns whether the option may have this value in a copy of this kind.
    pub fn allows(&self, kind: Kind, value: &str) -> bool {
        let (kinds, values) = self.same;
        self.kinds & kind.bit() != 0 || kinds & kind.bit() != 0 && values.contains(&value)
    }
}
