//! Sources on nodes that one command cannot copy, and the commands that copy them instead.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_copy::gathering::FromNodes;
use garland_core::cluster::target::{self, Target};
use garland_core::printable;
use garland_remote::elsewhere;
use garland_terminal::failure::Failure;

use super::Cp;
use super::options::kind::Kind;
use super::options::rules;

/// Returns the sources of `cp` if they are on nodes; none if they are not.
///
/// # Errors
/// If a source looks like a URL and cannot be parsed, or if sources on nodes cannot be copied by
/// one command: beside others, to nodes, or as several striped files.
pub fn sources(cp: &Cp) -> Result<Vec<FromNodes>, Failure> {
    let all = cp.sources();
    let found: Vec<FromNodes> = all.iter().filter_map(|source| from_nodes(source)).collect();
    if found.is_empty() {
        // Fails if one of them is a URL that cannot be parsed.
        return elsewhere::address(all).map(|_| found);
    }
    if matches!(target::parse(cp.destination()), Ok(Target::Nodes { .. })) {
        return Err(to_nodes(cp, &found));
    }
    if found.len() < all.len() {
        return Err(with_others(cp, &found));
    }
    if cp.plan.stripe.is_some() && found.len() > 1 {
        return Err(several_stripes(cp));
    }
    Ok(found)
}

/// Returns the failure of a copy from nodes to nodes, with the commands that make it.
fn to_nodes(cp: &Cp, from: &[FromNodes]) -> Failure {
    if let Some(list) = destinations(cp, from) {
        let kind = if cp.source.recursive { Kind::Tree } else { Kind::File };
        let given = options(cp, kind, &[]);
        let here = words(sources_here(cp));
        let list = printable::word(&list);
        return Failure::usage("cannot copy to several destinations in one command")
            .hint(format!("name all nodes in one list: garland cp{given}{here} {list}"));
    }
    let first = options(cp, kind_from(cp, from), &["dry-run"]);
    let mut second = options(cp, Kind::Tree, &["dry-run"]);
    if !cp.source.recursive {
        second.push_str(" -r");
    }
    // What is on this machine already need not be copied to it.
    let also = words(sources_here(cp));
    let destination = printable::word(cp.destination());
    let hint = format!(
        "copy to this machine first: garland cp{first}{} gathered/ && garland cp{second} gathered/{also} {destination}",
        words(sources_on_nodes(cp)),
    );
    Failure::usage(
        "cannot copy from nodes to nodes: one end of a copy must be a path of this machine",
    )
    .hint(hint)
    .hint(files_here(sources_on_nodes(cp).take(1).chain([cp.destination()])))
}

/// Returns the only destination that was probably meant by several ones: what is there of sources
/// on nodes has the destination's path.
fn destinations(cp: &Cp, from: &[FromNodes]) -> Option<OsString> {
    let Ok(Target::Nodes { nodes, path }) = target::parse(cp.destination()) else { return None };
    let is_same = from.iter().all(|from| from.path == path);
    if !is_same || sources_here(cp).next().is_none() {
        return None;
    }
    let lists: Vec<&str> = from.iter().map(|from| from.list.as_str()).collect();
    let mut list = OsString::from(format!("{},{nodes}:", lists.join(",")));
    list.push(path);
    Some(list)
}

/// Returns the failure of a copy of sources of which only some are on nodes, with the commands that
/// make it.
fn with_others(cp: &Cp, from: &[FromNodes]) -> Failure {
    let first = sources_on_nodes(cp).next().unwrap_or_default();
    let shown = printable::name(first.as_bytes());
    let message = format!("cannot copy sources on nodes and others in one command: {shown}");
    let gather = options(cp, kind_from(cp, from), &[]);
    let destination = printable::word(cp.destination());
    let from_nodes = words(sources_on_nodes(cp));
    let also = match words(sources_here(cp)) {
        own if own.is_empty() => own,
        own => format!(" && cp{}{own} {destination}", options_of_cp(cp)),
    };
    Failure::usage(message)
        .hint(format!("copy the two kinds with separate commands: garland cp{gather}{from_nodes} {destination}{also}"))
        .hint(files_here([first]))
}

/// Returns the failure of a copy of several striped files, with the commands that make it.
fn several_stripes(cp: &Cp) -> Failure {
    let given = options(cp, Kind::FromStripes, &[]);
    let destination = printable::word(cp.destination());
    let commands: Vec<String> = sources_on_nodes(cp)
        .map(|source| format!("garland cp{given} {} {destination}", printable::word(source)))
        .collect();
    Failure::usage("cannot copy several striped files in one command")
        .hint(format!("copy each by itself: {}", commands.join(" && ")))
}

/// Returns how to name files of this machine whose paths look like those on nodes.
fn files_here<'a>(paths: impl IntoIterator<Item = &'a OsStr>) -> String {
    let here = paths.into_iter().map(|path| {
        let mut here = OsString::from("./");
        here.push(path);
        printable::word(here)
    });
    format!("to name a file of this machine, write {}", here.collect::<Vec<_>>().join(" or "))
}

/// Returns the kind of the copy of all sources that are on nodes.
fn kind_from(cp: &Cp, from: &[FromNodes]) -> Kind {
    match (cp.source.recursive, from) {
        _ if cp.plan.stripe.is_some() => Kind::FromStripes,
        (true, _) => Kind::FromTrees,
        (false, [one]) if !one.is_pattern() => Kind::FromFiles,
        (false, _) => Kind::FromMany,
    }
}

/// Returns the options that the user gave, each after a space, as far as they have an effect on a
/// copy of this kind and are not among `without`.
fn options(cp: &Cp, kind: Kind, without: &[&str]) -> String {
    let has_effect = |name: &str| {
        let value = cp.typed.iter().find(|(option, _)| option == name);
        let value = value.map_or("", |(_, value)| value.as_str());
        rules().all(|rule| rule.option != name || rule.allows(kind, value))
    };
    let given = cp
        .given
        .iter()
        .filter(|option| has_effect(&option.name) && !without.contains(&option.name.as_str()));
    words(given.map(|option| option.word.as_os_str()))
}

/// Returns the options that cp(1) has, too.
fn options_of_cp(cp: &Cp) -> String {
    const OF_CP: [&str; 3] = ["recursive", "archive", "preserve"];
    let given = cp.given.iter().filter(|option| OF_CP.contains(&option.name.as_str()));
    words(given.map(|option| option.word.as_os_str()))
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
    use clap::{Args as _, CommandFactory, FromArgMatches};
    use garland_fleet::context::Context;

    use super::*;

    #[derive(clap::Parser)]
    struct Args {
        #[command(flatten)]
        cp: Cp,
    }

    fn cp(words: &[&str]) -> Cp {
        let words = [&["cp"], words].concat();
        let command = Context::augment_args(Args::command());
        let matches = command.try_get_matches_from(words).unwrap();
        let mut cp = Args::from_arg_matches(&matches).unwrap().cp;
        cp.note_typed(&matches);
        cp
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
                      hint: copy the two kinds with separate commands: garland cp 'n[1-2]:/b' d/ && cp Cargo.toml d/\n\
                      hint: to name a file of this machine, write './n[1-2]:/b'\n";
        assert_eq!(refused(&["Cargo.toml", "n[1-2]:/b", "d/"]), others);
        let to_nodes = "error: cannot copy from nodes to nodes: one end of a copy must be a path of this machine\n\
                        hint: copy to this machine first: garland cp 'n2:/*' gathered/ && \
                        garland cp -r gathered/ Cargo.toml n3:/d\n\
                        hint: to name a file of this machine, write './n2:/*' or ./n3:/d\n";
        assert_eq!(refused(&["Cargo.toml", "n2:/*", "n3:/d"]), to_nodes);
        let several = "error: cannot copy to several destinations in one command\n\
                       hint: name all nodes in one list: garland cp Cargo.toml n1,n2,n3:/d/\n";
        assert_eq!(refused(&["Cargo.toml", "n1:/d/", "n2:/d/", "n3:/d/"]), several);
        let stripes = "error: cannot copy several striped files in one command\n\
                       hint: copy each by itself: garland cp --stripe=1MiB 'n[1-2]:/a' d/ && \
                       garland cp --stripe=1MiB 'n[1-2]:/b' d/\n";
        assert_eq!(refused(&["--stripe", "n[1-2]:/a", "n[1-2]:/b", "d/"]), stripes);
        // Their options stay, as far as they have an effect.
        let options =
            ["--cluster", "my file", "-r", "--lab=x y", "--exclude", "*.o", "--include=x"];
        let said =
            refused(&[&options[..], &["--exclude", "y", "Cargo.toml", "n1:/b", "d/"]].concat());
        let kept = "'--cluster=my file' -r '--lab=x y' '--exclude=*.o' --include=x --exclude=y";
        let wanted = format!("commands: garland cp {kept} n1:/b d/ && cp -r Cargo.toml d/\n");
        assert!(said.contains(&wanted), "{said}");
        let options = ["-p", "--delete", "-a", "-n", "--on-slow=fail", "--verify"];
        let said = refused(&[&options[..], &["n1:/a", "n1:/b", "n3:/d"]].concat());
        let wanted = "garland cp -p -a --verify n1:/a n1:/b gathered/ && \
                      garland cp -p --delete -a --on-slow=fail --verify gathered/ n3:/d\n";
        assert!(said.contains(wanted), "{said}");
        for fine in [&["Cargo.toml", "src", "n1:/x"][..], &["s3://b/x", "y", "n1:/"]] {
            assert_eq!(sources(&cp(fine)).unwrap(), []);
        }
    }
}
