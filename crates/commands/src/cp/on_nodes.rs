//! Sources on nodes that one command cannot copy, and the commands that copy them instead.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_copy::gathering::FromNodes;
use garland_core::cluster::target::{self, Target};
use garland_core::printable;
use garland_remote::elsewhere;

use super::Cp;
use garland_terminal::failure::Failure;

/// Returns the sources of `cp` if they are on nodes; none if they are not.
///
/// # Errors
/// If a source looks like a URL and cannot be parsed, or if sources on nodes cannot be copied by one
/// command: beside others, to nodes, or as several striped files.
pub fn sources(cp: &Cp) -> Result<Vec<FromNodes>, Failure> {
    let all = cp.sources();
    let found: Vec<FromNodes> = all.iter().filter_map(|source| from_nodes(source)).collect();
    if found.is_empty() {
        // Fails if one of them is a URL that cannot be parsed.
        return elsewhere::address(all).map(|_| found);
    }
    let is_many = all.len() > 1 || found.iter().any(FromNodes::is_pattern);
    if is_many && matches!(target::parse(cp.destination()), Ok(Target::Nodes { .. })) {
        return Err(to_nodes(cp));
    }
    if found.len() < all.len() {
        return Err(with_others(cp));
    }
    if cp.plan.stripe.is_some() && found.len() > 1 {
        return Err(Failure::usage("cannot copy several striped files in one command")
            .hint("copy each by itself"));
    }
    Ok(found)
}

/// Returns the failure of a copy from nodes to nodes, with the commands that make it.
fn to_nodes(cp: &Cp) -> Failure {
    let options = if cp.source.recursive { " -r" } else { "" };
    // What is on this machine already need not be copied to it.
    let also = words(sources_here(cp));
    let destination = printable::word(cp.destination());
    let hint = format!(
        "copy to this machine first: garland cp{options}{} gathered/ && garland cp -r gathered/{also} {destination}",
        words(sources_on_nodes(cp)),
    );
    let shown = printable::name(cp.destination().as_bytes());
    Failure::usage(
        "cannot copy from nodes to nodes: one end of a copy must be a path of this machine",
    )
    .hint(hint)
    .hint(format!("to specify a file on this machine, write ./{shown}"))
}

/// Returns the failure of a copy of sources of which only some are on nodes, with the commands that
/// make it.
fn with_others(cp: &Cp) -> Failure {
    let first = sources_on_nodes(cp).next().unwrap_or_default();
    let first = printable::name(first.as_bytes());
    let message = format!("cannot copy sources on nodes and others in one command: {first}");
    let options = if cp.source.recursive { " -r" } else { "" };
    let destination = printable::word(cp.destination());
    let from_nodes = words(sources_on_nodes(cp));
    let also = match words(sources_here(cp)) {
        own if own.is_empty() => own,
        own => format!(" && cp{options}{own} {destination}"),
    };
    Failure::usage(message)
        .hint(format!("copy each by itself: garland cp{options}{from_nodes} {destination}{also}"))
        .hint(format!("if {first} is a file on this machine, write ./{first}"))
}

fn sources_here(cp: &Cp) -> impl Iterator<Item = &OsStr> {
    cp.sources().iter().filter(|source| source.exists()).map(|source| source.as_os_str())
}

fn sources_on_nodes(cp: &Cp) -> impl Iterator<Item = &OsStr> {
    let on_nodes = cp.sources().iter().filter(|source| from_nodes(source).is_some());
    on_nodes.map(|source| source.as_os_str())
}

/// Returns the source if it is on nodes.
fn from_nodes(source: &Path) -> Option<FromNodes> {
    if source.exists() || elsewhere::is_elsewhere(source) {
        return None;
    }
    match target::parse(source.as_os_str()) {
        Ok(Target::Nodes { nodes: list, path }) => Some(FromNodes { list, path }),
        _ => None,
    }
}

/// Returns words of a command line, each after a space.
fn words<'a>(words: impl Iterator<Item = &'a OsStr>) -> String {
    words.map(|word| format!(" {}", printable::word(word))).collect()
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

    fn cp(words: &[&str]) -> Cp {
        let words = [&["cp"], words].concat();
        let matches = Args::command().try_get_matches_from(words).unwrap();
        Args::from_arg_matches(&matches).unwrap().cp
    }

    fn refused(words: &[&str]) -> String {
        sources(&cp(words)).err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[test]
    fn sources_on_nodes_go_together_and_others_are_refused_with_the_commands_that_copy_them() {
        let from = |list: &str, path: &str| FromNodes { list: list.into(), path: path.into() };
        let found = sources(&cp(&["n[1-3]:/log/*.log", "n4:/etc/hosts", "d/"])).unwrap();
        assert_eq!(found, [from("n[1-3]", "/log/*.log"), from("n4", "/etc/hosts")]);
        let others = "error: cannot copy sources on nodes and others in one command: n[1-2]:/b\n\
                      hint: copy each by itself: garland cp 'n[1-2]:/b' d/ && cp Cargo.toml d/\n\
                      hint: if n[1-2]:/b is a file on this machine, write ./n[1-2]:/b\n";
        assert_eq!(refused(&["Cargo.toml", "n[1-2]:/b", "d/"]), others);
        let to_nodes = "error: cannot copy from nodes to nodes: one end of a copy must be a path of this machine\n\
                        hint: copy to this machine first: garland cp 'n2:/*' gathered/ && \
                        garland cp -r gathered/ Cargo.toml n3:/d\n\
                        hint: to specify a file on this machine, write ./n3:/d\n";
        assert_eq!(refused(&["Cargo.toml", "n2:/*", "n3:/d"]), to_nodes);
        let stripes = "error: cannot copy several striped files in one command\n\
                       hint: copy each by itself\n";
        assert_eq!(refused(&["--stripe", "n[1-2]:/a", "n[1-2]:/b", "d/"]), stripes);
        for fine in [&["Cargo.toml", "src", "n1:/x"][..], &["s3://b/x", "y", "n1:/"]] {
            assert_eq!(sources(&cp(fine)).unwrap(), []);
        }
    }
}
