//! The end of a command in which a thread panicked.

use std::panic;
use std::process;

use garland_terminal::output;

/// The exit code of a command that panicked, as Rust programs have it.
const PANICKED: i32 = 101;

const REPORT: &str =
    "error: the command cannot go on: this is a fault of garland; please report the lines above\n";

/// Lets the command end if any of its threads panics: others would wait for that one for ever. What
/// it has started ends as if it was killed.
pub fn end_the_command() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        print(panic);
        output::warn(REPORT);
        process::exit(PANICKED);
    }));
}
