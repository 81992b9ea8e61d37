//! `garland trace export`: what comes out is what was recorded, and other programs can read it.

mod formats;
mod made;
mod real;
mod refusals;

use crate::garland_in;
