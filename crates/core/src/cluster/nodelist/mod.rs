//! Node lists: `n[01-20,30]` to names and back.
//!
//! | text | names |
//! |---|---|
//! | `a,b` or `a b` or lines | `a`, `b`; a `#` at the start of a name begins a comment up to the end of the line |
//! | `n[01-20,30]` | `n01` ... `n20`, `n30`; padded as the first number |
//! | `n[8-12]` | `n8`, `n9`, `n10`, `n11`, `n12` |
//! | `n[1-9/2]` | `n1`, `n3`, `n5`, `n7`, `n9` |
//! | `r[1-2]n[1-3]` | `r1n1`, `r1n2`, `r1n3`, `r2n1` ...: the leftmost bracket varies slowest |
//! | `n[1-5]!n[2,4]` | `n1`, `n3`, `n5`: `!` removes from the names before it, from left to right |
//! | `^hosts` | the node list in the file `hosts` |
//! | `@gpu` | the group `gpu`, whose list may contain groups |
//! | `@slurm` | the nodes of this Slurm allocation |
//! | `[fd99::11]`, `bob@[fd99::11]` | an IPv6 address |
//! | `local[1-8]`, `lab:n[1-20]` | ordinary names; the launcher interprets them |
//!
//! The syntax is the common part of ClusterShell, pdsh and Slurm. The given order is kept, since it
//! is the order of chains. A node that is named twice counts once, where it is named first.
//!
//! A name consists of ASCII letters, digits and `. - _ : @ %`, and has at most [`LONGEST_NAME`]
//! bytes. It begins with a letter, a digit or `_`, and so does the part after an `@`, so programs
//! cannot mistake a name for an option.

mod error;
mod expand;
mod fold;
mod limits;
mod pattern;
mod scan;
mod sources;

pub use error::{NodeListError, NodeListProblem, Origin, Place, SourceError};
pub use expand::expand;
pub use fold::fold;
pub use limits::{LONGEST_NAME, MOST_NAMES};
pub use sources::{NoSources, Sources};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
