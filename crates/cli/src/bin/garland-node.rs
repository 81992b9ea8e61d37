//! `garland-node`: the program for nodes, which `garland` carries and sends to nodes that lack it.

use std::process::ExitCode;

fn main() -> ExitCode {
    garland_sys::inherited::survive_file_limit();
    garland_node::main(std::env::args_os()).unwrap_or_else(|| {
        if std::env::args_os().nth(1).is_some_and(|word| word == "--version") {
            garland_terminal::outln!("garland {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        garland_terminal::errln!(
            "error: this is the program for nodes, which garland starts there"
        );
        ExitCode::from(2)
    })
}
