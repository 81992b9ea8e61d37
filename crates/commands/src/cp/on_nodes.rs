//! Sources on nodes that one command cannot copy, and the commands that copy them instead.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_core::cluster::target::{self, Target};
use garland_core::farm::job::quoted;
use garland_core::printable;
use garland_remote::elsewhere;

use super::Cp;
use garland_terminal::failure::Failure;

/// The maximum number of commands in a hint.
const COMMANDS_MAX: usize = 4;

/// Refuses several sources of which one is on nodes: it would be taken for a file of this machine.
///
/// # Errors
/// When there are such sources.
pub fn refuse_several(cp: &Cp) -> Result<(), Failure> {
    let sources = cp.sources();
    let Some(first) = sources.iter().find(|source| is_on_nodes(source)) else { return Ok(()) };
    if sources.len() < 2 {
        return Ok(());
    }
    let first = printable::name(first.as_os_str().as_bytes());
    let message =
        format!("cannot copy several sources in one command: {first} is a source on nodes");
    let is_to_nodes = matches!(target::parse(cp.destination()), Ok(Target::Nodes { .. }));
    let place = if is_to_nodes { OsStr::new("./") } else { cp.destination() };
    let options = if cp.source.recursive { " -r" } else { "" };
    // What is on this machine already need not be copied to it.
    let apart = sources.iter().filter(|source| !is_to_nodes || is_on_nodes(source));
    let commands = apart.take(COMMANDS_MAX).map(|source| {
        let word = |word: &OsStr| shell_word(word.as_bytes());
        format!("garland cp{options} {} {}", word(source.as_os_str()), word(place))
    });
    let commands = commands.collect::<Vec<_>>().join(" && ");
    let more = if sources.len() > COMMANDS_MAX { " && .." } else { "" };
    let way = if is_to_nodes { "copy to this machine first" } else { "copy each by itself" };
    Err(Failure::usage(message)
        .hint(format!("{way}: {commands}{more}"))
        .hint(format!("if {first} is a file on this machine, write ./{first}")))
}

/// Adds to the reason for which nodes do not find a path that they expand no patterns, if it looks
/// like one, and the command that copies what was meant from the nodes `list`.
pub fn with_pattern_hint(reason: String, list: &str, path: &[u8], destination: &OsStr) -> String {
    let is_pattern = |text: &[u8]| text.iter().any(|byte| b"*?[".contains(byte));
    if !is_pattern(path) || !reason.ends_with("no such file or directory") {
        return reason;
    }
    let name_at = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (folder, name) = path.split_at(name_at);
    if folder.is_empty() || name.is_empty() || is_pattern(folder) {
        return format!("{reason}; nodes expand no patterns: copy the directory with -r");
    }
    let from = [list.as_bytes(), b":", folder].concat();
    let [name, from, to] = [name, &from, destination.as_bytes()].map(shell_word);
    format!(
        "{reason}; nodes expand no patterns: garland cp -r --include {name} --exclude '*' {from} {to}"
    )
}

fn is_on_nodes(source: &Path) -> bool {
    let is_here = source.exists() || elsewhere::is_elsewhere(source);
    !is_here && matches!(target::parse(source.as_os_str()), Ok(Target::Nodes { .. }))
}

/// Returns a word of a command line for a shell; control characters and bytes that are no text are
/// escaped.
fn shell_word(word: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/.:_-@,+=".contains(byte);
    if word.iter().all(is_plain) && !word.is_empty() {
        return String::from_utf8_lossy(word).into_owned();
    }
    printable::bytes(&quoted(word))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;

    #[derive(clap::Parser)]
    struct Args {
        #[command(flatten)]
        cp: Cp,
    }

    fn refused(words: &[&str]) -> String {
        let words = [&["cp"], words].concat();
        let matches = Args::command().try_get_matches_from(words).unwrap();
        let Args { cp } = Args::from_arg_matches(&matches).unwrap();
        refuse_several(&cp).err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[test]
    fn several_sources_on_nodes_are_refused_with_the_commands_that_copy_them() {
        let several = "error: cannot copy several sources in one command: n1:/a is a source on nodes\n\
                       hint: copy each by itself: garland cp n1:/a d/ && garland cp 'n[2-3]:/b' d/\n\
                       hint: if n1:/a is a file on this machine, write ./n1:/a\n";
        assert_eq!(refused(&["n1:/a", "n[2-3]:/b", "d/"]), several);
        let to_nodes = "error: cannot copy several sources in one command: n2:/b is a source on nodes\n\
                        hint: copy to this machine first: garland cp n2:/b ./\n\
                        hint: if n2:/b is a file on this machine, write ./n2:/b\n";
        assert_eq!(refused(&["Cargo.toml", "n2:/b", "n3:/d"]), to_nodes);
        for fine in
            [&["n1:/a", "d/"][..], &["Cargo.toml", "src", "n1:/x"], &["s3://b/x", "y", "n1:/"]]
        {
            assert_eq!(refused(fine), "");
        }
    }

    #[test]
    fn what_is_not_found_may_be_a_pattern() {
        let hinted = |path: &str| {
            let reason = format!("cannot open {path}: no such file or directory");
            with_pattern_hint(reason, "n[1-3]", path.as_bytes(), OsStr::new("d/"))
        };
        let wanted = "cannot open /log/*.log: no such file or directory; nodes expand no patterns: \
                      garland cp -r --include '*.log' --exclude '*' 'n[1-3]:/log/' d/";
        assert_eq!(hinted("/log/*.log"), wanted);
        assert!(hinted("/log/*/x").ends_with("expand no patterns: copy the directory with -r"));
        assert!(hinted("/log/x").ends_with("directory"));
        let other = with_pattern_hint("full".to_owned(), "n1", b"/a*", OsStr::new("d"));
        assert_eq!(other, "full");
    }
}
