//! `garland trace export`: what comes out is what was recorded, and other programs can read it.

mod formats;
mod made;
mod real;
mod refusals;

use garland_testkit::{Garland, Scratch};

fn garland(scratch: &Scratch) -> Garland<'_> {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch)
}
