//! Benchmarks: of copies against peers, in the same run on the same emulated cluster, and of labs.

mod chain;
mod cpu;
mod disk;
mod field;
mod lab;
mod link;
mod machine;
mod memory;
mod options;
mod peer;
mod peers;
mod processes;
mod result;
mod sandbox;
mod source;
mod stripe;
mod table;

use std::path::Path;

use anyhow::{Result, bail};

/// Runs the benchmark that `args` name.
///
/// # Errors
/// When the words make no sense, the emulated cluster can't be set up, or a peer failed.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    match args.split_first() {
        Some((name, rest)) if name == "lab" && rest.iter().any(|word| word == "--help") => {
            println!("{}", lab::USAGE);
            Ok(())
        }
        Some((name, rest)) if name == "disk" && rest.iter().any(|word| word == "--help") => {
            println!("{}", disk::USAGE);
            Ok(())
        }
        Some((name, rest)) if name == "stripe" && rest.iter().any(|word| word == "--help") => {
            println!("{}", stripe::USAGE);
            Ok(())
        }
        Some((_, rest)) if rest.iter().any(|word| word == "--help") => {
            println!("{}", options::USAGE);
            Ok(())
        }
        Some((name, rest)) if name == field::SHELL => field::shell(rest),
        Some((name, rest)) if name == "chain" => chain::run(root, rest),
        Some((name, rest)) if name == "lab" => lab::run(root, rest),
        Some((name, rest)) if name == "disk" => disk::run(root, rest),
        Some((name, rest)) if name == "stripe" => stripe::run(root, rest),
        _ => {
            let all = [options::USAGE, lab::USAGE, disk::USAGE, stripe::USAGE].join("\n\n");
            bail!("which benchmark?\n\n{all}")
        }
    }
}
