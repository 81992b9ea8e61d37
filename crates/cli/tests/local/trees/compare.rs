//! Comparing trees by rsync, diff and getfattr.

use std::path::Path;
use std::process::Command;

/// What a command says; it must end with 0, or with 1 as diff does where things differ.
#[track_caller]
fn said(folder: &Path, words: &[&str]) -> Vec<u8> {
    let output = Command::new(words[0]).args(&words[1..]).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", words[0]));
    let code = output.status.code();
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(code == Some(0) || code == Some(1), "{words:?} ended with {code:?}: {shown}");
    output.stdout
}

/// The trees in both folders are equal, but for sockets, pipes and devices: names, bytes, kinds,
/// modes, owners, times, links of both kinds, extended attributes and access control lists.
#[track_caller]
pub fn assert_equal(source: &Path, copy: &Path) {
    let from = format!("{}/", source.display());
    let to = format!("{}/", copy.display());
    let rsync = [
        "rsync",
        "-naHAX",
        "--no-D",
        "--info=nonreg0",
        "--numeric-ids",
        "--delete",
        "--checksum",
        "--itemize-changes",
        &from,
        &to,
    ];
    let differs = said(source, &rsync);
    assert!(differs.is_empty(), "rsync: {}", String::from_utf8_lossy(&differs));
    let differs = said(source, &["diff", "-r", "--no-dereference", &from, &to]);
    assert!(differs.is_empty(), "diff: {}", String::from_utf8_lossy(&differs));
    assert!(attributes(source) == attributes(copy), "getfattr says other things of {to}");
}

/// All extended attributes below `folder`, in an order that doesn't depend on it.
#[track_caller]
fn attributes(folder: &Path) -> Vec<String> {
    let all = said(folder, &["getfattr", "-R", "-P", "-d", "-m", "-", "-e", "hex", "."]);
    let all = String::from_utf8_lossy(&all);
    let mut of_files: Vec<String> = all.split("\n\n").map(str::to_owned).collect();
    of_files.sort();
    of_files
}
