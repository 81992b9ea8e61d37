//! `garland cp` from and to pipes and commands, end to end, to agents that are processes of this
//! machine.

mod commands;
mod devices;
mod holes;
mod packed;
mod streams;

use std::time::Duration;

use garland_testkit::{Garland, Scratch, assert_copied, locals, source, until};

use crate::garland_in;

/// Waits until a node's file has some bytes.
#[track_caller]
fn await_bytes(scratch: &Scratch, node: &str, name: &str) {
    let path = scratch.root(node).join(name);
    until(&format!("bytes in {}", path.display()), || {
        path.metadata().is_ok_and(|stat| stat.len() > 0)
    });
}

/// Has the second of three nodes stand still for two seconds when all have begun their files.
fn stand_still(garland: &Garland<'_>, scratch: &Scratch) {
    until("the first block", || scratch.partial_files().len() == 3);
    let still = garland.agent("local2");
    still.stop();
    std::thread::sleep(Duration::from_millis(2000));
    still.go_on();
}
