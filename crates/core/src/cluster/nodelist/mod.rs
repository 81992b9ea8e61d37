//! The algebra of node lists: `n[01-20,30]` to names and back.
//!
//! | text | names |
//! |---|---|
//! | `a,b` or `a b` or lines | `a`, `b`; a `#` where a name could begin makes the rest of its line a comment |
//! | `n[01-20,30]` | `n01` ... `n20`, `n30`; the padding is that of the first number |
//! | `n[8-12]` | `n8`, `n9`, `n10`, `n11`, `n12` |
//! | `n[1-9/2]` | `n1`, `n3`, `n5`, `n7`, `n9` |
//! | `r[1-2]n[1-3]` | `r1n1`, `r1n2`, `r1n3`, `r2n1` ...: the leftmost bracket is the slowest |
//! | `n[1-5]!n[2,4]` | `n1`, `n3`, `n5`: `!` takes away from what stands before it, from left to right |
//! | `^hosts` | the node list in the file `hosts` |
//! | `@gpu` | the group `gpu`, whose own list may name groups |
//! | `@slurm` | the nodes of this Slurm allocation |
//! | `local[1-8]`, `lab:n[1-20]` | names like any other; the launcher gives them their meaning |
//!
//! The syntax is the part that ClusterShell, pdsh and Slurm have in common. The order given is
//! kept, for a chain is laid in that order. A node named twice is a mistake worth telling, so it is
//! an error and not silently dropped.
//!
//! A name holds ASCII letters, digits and `. - _ : @ %`, at most [`LONGEST_NAME`] bytes. It begins
//! with a letter, a digit or `_`, as does the part behind an `@`, so no name can be taken for an
//! option by a program it is given to.

mod error;
mod expand;
mod fold;
mod limits;
mod pattern;
mod scan;
mod sources;

pub use error::{NodeListError, NodeListProblem, Origin, Place};
pub use expand::expand;
pub use fold::fold;
pub use limits::{LONGEST_NAME, MOST_NAMES};
pub use sources::{NoSources, Sources};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
