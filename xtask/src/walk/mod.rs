//! Counts the files that one reads to follow a walk of ARCHITECTURE.md through the code.
//!
//! A walk is a tree of functions in a list beside this file, written by hand: each is called by the
//! function above it that is indented less. What is listed is proved: the function is in that file,
//! and the one above calls it; where a message, a thread or a trait is between them, both name a
//! word that is given after `via`. What belongs on the list is its own first lines.

mod code;
mod step;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use self::code::Code;
use self::step::Step;

/// The commit before copies became a library: the lists of `--before` are walks through it.
const BEFORE: &str = "e9959f259d92ab80e89b8cf391c994f267fa8c34";

/// The walks: their names, and their lists for the present code and for that of [`BEFORE`].
const WALKS: [Walk; 3] = [
    Walk { name: "cp", now: include_str!("cp.txt"), before: include_str!("before/cp.txt") },
    Walk {
        name: "block",
        now: include_str!("block.txt"),
        before: include_str!("before/block.txt"),
    },
    Walk {
        name: "order",
        now: include_str!("order.txt"),
        before: include_str!("before/order.txt"),
    },
];

/// A walk and its lists.
struct Walk {
    name: &'static str,
    now: &'static str,
    before: &'static str,
}

/// Prints the walk that `args` name, or all of them, with the number of their files.
///
/// # Errors
/// If there is no such walk, or a function of it is not where the list says.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let is_before = args.iter().any(|word| word == "--before");
    let names: Vec<&String> = args.iter().filter(|word| *word != "--before").collect();
    if let Some(unknown) = names.iter().find(|name| !WALKS.iter().any(|it| it.name == **name)) {
        bail!("cannot follow {unknown}: the walks are cp, block and order");
    }
    let chosen = |walk: &&Walk| names.is_empty() || names.iter().any(|name| *name == walk.name);
    for walk in WALKS.iter().filter(chosen) {
        let list = if is_before { walk.before } else { walk.now };
        let commit = is_before.then_some(BEFORE);
        follow(walk.name, list, |path| read(root, commit, path))?;
    }
    Ok(())
}

/// Checks and prints a walk, whose files `read` reads.
fn follow(name: &str, list: &str, read: impl Fn(&str) -> Result<String>) -> Result<()> {
    let steps = Step::parse(list)?;
    let mut files: BTreeMap<&str, Code> = BTreeMap::new();
    for step in &steps {
        if !files.contains_key(step.path) {
            files.insert(step.path, Code::new(&read(step.path)?));
        }
    }
    let wrong: Vec<String> = steps.iter().filter_map(|step| fault(step, &steps, &files)).collect();
    if !wrong.is_empty() {
        bail!("the walk {name} is not that of the code:\n{}", wrong.join("\n"));
    }
    for step in &steps {
        println!("{:indent$}{} {}", "", step.path, step.function, indent = step.depth);
    }
    println!("\n{name}: {} files, {} functions", files.len(), steps.len());
    for path in files.keys() {
        println!("  {path}");
    }
    println!();
    Ok(())
}

/// Returns what is wrong with a step, if something is.
fn fault(step: &Step<'_>, steps: &[Step<'_>], files: &BTreeMap<&str, Code>) -> Option<String> {
    let Step { line, path, function, .. } = step;
    let own = &files[path];
    let Some(own) = own.definition(step.owner(), step.last()) else {
        return Some(format!("line {line}: {path} has no {function}"));
    };
    let above = &steps[step.above?];
    let calling = files[above.path].definition(above.owner(), above.last())?;
    let is_called = match step.via {
        Some(word) => calling.names(word) && (own.names(word) || files[path].names(word)),
        None => calling.calls(step.owner(), step.last()),
    };
    let between = step.via.map_or_else(String::new, |word| format!(" or both do not name {word}"));
    let fault = || format!("line {line}: {} does not call {function}{between}", above.function);
    (!is_called).then(fault)
}

/// Reads a file of the working tree, or of a commit.
fn read(root: &Path, commit: Option<&str>, path: &str) -> Result<String> {
    let Some(commit) = commit else {
        return std::fs::read_to_string(root.join(path)).with_context(|| format!("reading {path}"));
    };
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(["show", &format!("{commit}:{path}")]);
    let output = git.output().context("cannot run git")?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!("cannot read {path} of {commit}, for which the whole history is needed: {reason}");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(list: &str) -> String {
        let read = |path: &str| {
            match path {
            "a.rs" => Ok("fn main() { b::two(); Thing::new().go(ORDER) }".to_owned()),
            "b.rs" => Ok("/// three()\nfn two() { \"three()\"; }\nfn three() {}".to_owned()),
            "c.rs" => Ok("impl Other { fn new() {} }\n\
                          impl<'a> Thing<'a> { fn new() -> Self { two() } fn go(self, it: u8) {} }\n\
                          fn served() { ORDER => three() }"
                .to_owned()),
            _ => bail!("no {path}"),
        }
        };
        follow("a", list, read).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn the_walks_are_those_of_the_code() {
        let root = crate::repository();
        for walk in &WALKS {
            follow(walk.name, walk.now, |path| read(root, None, path)).unwrap();
        }
    }

    #[test]
    fn what_is_listed_has_to_be_called() {
        let list = "# A walk.\na.rs main\n  b.rs two\n  c.rs Thing::new\n    b.rs two\n  \
                    c.rs Thing::go\n  c.rs served via ORDER\n    b.rs three\n";
        assert_eq!(followed(list), "");
        let heading = "the walk a is not that of the code:\n";
        assert_eq!(
            followed("a.rs main\n  b.rs three\n"),
            format!("{heading}line 2: main does not call three")
        );
        assert_eq!(
            followed("b.rs two\n  b.rs three\n"),
            format!("{heading}line 2: two does not call three"),
            "comments and literals call nothing"
        );
        assert_eq!(
            followed("a.rs main\n  c.rs Other::new\n"),
            format!("{heading}line 2: main does not call Other::new")
        );
        assert_eq!(
            followed("a.rs main\n  c.rs Other::go\n"),
            format!("{heading}line 2: c.rs has no Other::go")
        );
    }
}
