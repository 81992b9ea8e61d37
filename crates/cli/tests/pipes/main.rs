//! `garland cp` from and to pipes and commands, end to end, to agents that are processes of this
//! machine.

mod commands;
mod devices;
mod holes;
mod packed;
mod streams;

use garland_testkit::{Garland, Scratch, assert_copied, locals, source, until};

/// The built binary in `scratch`.
fn garland(scratch: &Scratch) -> Garland<'_> {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch)
}

/// Waits until a node's file has some bytes.
#[track_caller]
fn await_bytes(scratch: &Scratch, node: &str, name: &str) {
    let path = scratch.root(node).join(name);
    until(&format!("bytes in {}", path.display()), || {
        path.metadata().is_ok_and(|stat| stat.len() > 0)
    });
}
