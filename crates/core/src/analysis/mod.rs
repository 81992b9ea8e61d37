//! What measurements say: pure functions from numbers to verdicts.

pub mod pairs;
