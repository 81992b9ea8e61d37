//! The table of the options of `garland cp`: on which kinds of copies each option has an effect. An
//! option without an effect is refused, never ignored.

use std::fmt;

use super::task::Task;
use crate::args::Cp;
use crate::cp::elsewhere;
use garland_copy::ends::is_stream;
use garland_terminal::failure::Failure;

/// The kinds of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of this machine to nodes.
    File,
    /// An object or a URL to nodes.
    Object,
    /// Standard input, the output of a command, or a named pipe, to nodes.
    Stream,
    /// Files and directories to nodes.
    Tree,
    /// One file, striped over all nodes.
    Stripes,
    /// A file of each node to this machine.
    FromFiles,
    /// A tree of each node to this machine.
    FromTrees,
    /// One file, striped over nodes, to this machine.
    FromStripes,
    /// Nodes join a running copy.
    Join,
}

/// A set of kinds, one bit each.
type Kinds = u16;

const FILE: Kinds = Kind::File.bit();
const OBJECT: Kinds = Kind::Object.bit();
const STREAM: Kinds = Kind::Stream.bit();
const TREE: Kinds = Kind::Tree.bit();
const STRIPES: Kinds = Kind::Stripes.bit();
const FROM_FILES: Kinds = Kind::FromFiles.bit();
const FROM_TREES: Kinds = Kind::FromTrees.bit();
const FROM_STRIPES: Kinds = Kind::FromStripes.bit();
const JOIN: Kinds = Kind::Join.bit();
/// Copies to nodes in which every node gets everything.
const BROADCAST: Kinds = FILE | OBJECT | STREAM | TREE;
const TO_NODES: Kinds = BROADCAST | STRIPES;
const FROM_NODES: Kinds = FROM_FILES | FROM_TREES | FROM_STRIPES;
const COPY: Kinds = TO_NODES | FROM_NODES;

/// The kinds of copies on which an option has an effect.
#[derive(Clone, Copy)]
struct Rule {
    /// The name of the option on the command line, without dashes.
    option: &'static str,
    /// The kinds on which the option has an effect.
    kinds: Kinds,
    /// Kinds on which the option has no effect, and the values of the option that are accepted
    /// there because they equal the default.
    same: (Kinds, &'static [&'static str]),
    /// The hint for other kinds: why the option has no effect, or what to do instead.
    hint: &'static str,
}

/// Returns a rule for an option that has an effect on `kinds`.
const fn rule(option: &'static str, kinds: Kinds, hint: &'static str) -> Rule {
    Rule { option, kinds, same: (0, &[]), hint }
}

impl Rule {
    /// Also accepts the option on `kinds` if its value is one of `values`, which equal the default.
    const fn same(self, kinds: Kinds, values: &'static [&'static str]) -> Self {
        Self { same: (kinds, values), ..self }
    }
}

const NONE_APART: &str = "no node can be fed on the side in this copy: each node has a different part, or the source can be read only once";
const ONLY_TREES: &str = "it applies only to directories, which are copied with -r";
const ONLY_TO_NODES: &str = "it applies only to copies to nodes";

/// The names of the options that have an effect on all copies, separated by spaces. `whole` is one
/// of them: a copy without a comparison sends everything anyway.
const OF_ALL_COPIES: &str = "\
    whole no-fsync no-encrypt dry-run verbose save-plan rails buffers congestion bwlimit verify \
    digest no-trace progress launcher stuck-after dead-after keep-traces mptcp lab from local-root \
    cluster listen port";

/// The rules of the options that are not in [`OF_ALL_COPIES`]. Conflicts that depend on values, on
/// other options or on the type of a file are reported elsewhere: by the argument parser, or when
/// the source is opened.
const RULES: &[Rule] = &[
    rule("join", JOIN, ""),
    // The command line of the resumed copy takes the place of this one.
    rule("resume", 0, ""),
    rule("stripe", STRIPES | FROM_STRIPES, ""),
    // Objects below a prefix are a tree; for another address the option is refused by an error that names it.
    rule("recursive", TREE | FROM_TREES | OBJECT, "a stream is not a directory: omit -r"),
    rule("archive", TREE | FROM_TREES | OBJECT, "a stream is not a directory: omit -a"),
    rule("exclude", TREE | FROM_TREES | OBJECT, ONLY_TREES),
    rule("include", TREE | FROM_TREES | OBJECT, ONLY_TREES),
    rule("exclude-from", TREE | FROM_TREES | OBJECT, ONLY_TREES),
    rule("files-from", TREE | OBJECT, ONLY_TREES),
    rule("xattrs", TREE | FROM_TREES | OBJECT, ONLY_TREES),
    rule("delete", TREE | OBJECT, "copies from nodes add and replace files, but never remove any"),
    rule("checksum", TO_NODES | OBJECT, "copies from nodes send everything"),
    rule("preserve", COPY & !STREAM, "a stream has no mode and no modification time"),
    // With a stream, the option is refused later, when the source is opened.
    rule(
        "shared",
        FILE | STREAM,
        "it applies only to one regular file of this machine, which nodes see at the same path",
    ),
    rule(
        "force-device",
        FILE | OBJECT | STREAM | FROM_FILES | FROM_STRIPES,
        "this copy writes to no device",
    ),
    rule("compress", BROADCAST, ONLY_TO_NODES).same(FROM_NODES, &["none"]),
    rule("order", TO_NODES, "copies from nodes read from all nodes at once")
        .same(FROM_NODES, &["auto", "list"]),
    rule(
        "shape",
        BROADCAST & !STREAM,
        "in this copy no node feeds another, or the source is a stream, which always uses a chain",
    )
    .same(STREAM, &["auto", "chain"]),
    rule("on-slow", BROADCAST & !STREAM, NONE_APART).same(STREAM | STRIPES, &["wait"]),
    rule("slow-below", BROADCAST & !STREAM, NONE_APART),
    rule(
        "block-size",
        COPY & !FROM_STRIPES,
        "stripes are read in blocks of the size in their manifest",
    ),
    rule("op-size", STRIPES, "only a striped copy to nodes is cut into operations"),
    rule("op-overlap", STRIPES, "only a striped copy to nodes is cut into operations"),
    rule("min-ok", COPY & !STRIPES & !FROM_STRIPES, ""),
    rule("inject", TO_NODES, ONLY_TO_NODES),
    rule("quiet", COPY | JOIN, ""),
    rule("json", COPY | JOIN, ""),
];

fn rules() -> impl Iterator<Item = Rule> {
    let plain = OF_ALL_COPIES.split(' ').map(|option| rule(option, COPY, ""));
    RULES.iter().copied().chain(plain)
}

/// Returns the kind of copy that the arguments and their task ask for.
///
/// # Errors
/// When a source looks like a URL and cannot be parsed as one.
pub fn kind_of(cp: &Cp, task: &Task) -> Result<Kind, Failure> {
    match (task, cp.stripe.is_some(), cp.recursive) {
        (Task::Join(_), ..) => return Ok(Kind::Join),
        (Task::In { .. }, true, _) => return Ok(Kind::FromStripes),
        (Task::In { .. }, false, true) => return Ok(Kind::FromTrees),
        (Task::In { .. }, false, false) => return Ok(Kind::FromFiles),
        (Task::Out, true, _) => return Ok(Kind::Stripes),
        (Task::Out, false, _) => {}
    }
    Ok(if elsewhere::address(cp.sources())?.is_some() {
        Kind::Object
    } else if cp.sources().iter().any(|source| is_stream(source)) {
        Kind::Stream
    } else if cp.recursive {
        Kind::Tree
    } else {
        Kind::File
    })
}

/// Returns an error for options that have no effect on this kind of copy.
///
/// # Errors
/// If the user specified such an option.
pub fn refuse_without_effect(cp: &Cp, kind: Kind) -> Result<(), Failure> {
    for rule in rules() {
        let mut typed = cp.typed.iter().filter(|(option, _)| option == rule.option);
        let Some(value) = typed.next().map(|(_, value)| value.as_str()) else { continue };
        if !rule.allows(kind, value) {
            let failure = Failure::usage(format!("--{} has no effect on {kind}", rule.option));
            return Err(match kind {
                Kind::Join => failure.hint(
                    "nodes that join use the options of the copy's own command; \
                     only --quiet and --json can be combined with --join",
                ),
                _ if rule.hint.is_empty() => failure,
                _ => failure.hint(rule.hint),
            });
        }
    }
    Ok(())
}

impl Rule {
    fn allows(&self, kind: Kind, value: &str) -> bool {
        let (kinds, values) = self.same;
        self.kinds & kind.bit() != 0 || kinds & kind.bit() != 0 && values.contains(&value)
    }
}

impl Kind {
    const fn bit(self) -> Kinds {
        1 << self as u16
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a copy of a file to nodes",
            Self::Object => "a copy of an object or URL to nodes",
            Self::Stream => "a copy of a stream to nodes",
            Self::Tree => "a copy of a tree to nodes",
            Self::Stripes => "a striped copy to nodes",
            Self::FromFiles => "a copy of files from nodes",
            Self::FromTrees => "a copy of trees from nodes",
            Self::FromStripes => "a striped copy from nodes",
            Self::Join => "a running copy (--join)",
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

    use super::*;
    use garland_fleet::context::Context;

    #[derive(Parser)]
    #[command(name = "garland")]
    struct Args {
        #[command(subcommand)]
        command: Command,
        #[command(flatten)]
        _context: Context,
    }

    #[derive(Subcommand)]
    enum Command {
        Cp(Cp),
    }

    const KINDS: [(Kind, &[&str]); 9] = [
        (Kind::File, &["Cargo.toml", "n[1-3]:/x"]),
        (Kind::Object, &["s3://bucket/key", "n[1-3]:/x"]),
        (Kind::Stream, &["-", "n[1-3]:/x"]),
        (Kind::Tree, &["-r", "src", "n[1-3]:/x"]),
        (Kind::Stripes, &["--stripe", "Cargo.toml", "n[1-3]:/x"]),
        (Kind::FromFiles, &["n[1-3]:/x", "here"]),
        (Kind::FromTrees, &["-r", "n[1-3]:/x", "here"]),
        (Kind::FromStripes, &["--stripe", "n[1-3]:/x", "here"]),
        (Kind::Join, &["--join", "last", "n[1-3]"]),
    ];

    fn cp(words: &[&[&str]]) -> Result<Cp, clap::Error> {
        let words = [&["garland", "cp"], &words.concat()[..]].concat();
        let matches = Args::command().try_get_matches_from(words)?;
        let Command::Cp(mut cp) = Args::from_arg_matches(&matches)?.command;
        cp.note_typed(matches.subcommand().expect("cp").1);
        Ok(cp)
    }

    /// Returns the error for these options in a copy of this kind; an empty string if all are
    /// accepted.
    fn said(kind: Kind, options: &[&str]) -> String {
        let (_, words) = KINDS.iter().find(|(own, _)| *own == kind).unwrap();
        let cp =
            cp(&[*words, options]).unwrap_or_else(|error| panic!("{kind} {options:?}: {error}"));
        assert_eq!(Task::new(&cp).and_then(|task| kind_of(&cp, &task)).unwrap(), kind);
        let refused = refuse_without_effect(&cp, kind);
        refused.err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_option_has_a_rule_and_no_rule_is_without_an_option() {
        let command = Args::command();
        let cp = command.find_subcommand("cp").unwrap();
        let arguments = cp.get_arguments().chain(command.get_arguments());
        let mut names: Vec<_> = arguments.filter_map(|argument| argument.get_long()).collect();
        names.sort_unstable();
        let mut rules: Vec<_> = rules().map(|rule| rule.option).collect();
        rules.sort_unstable();
        assert_eq!(names, rules);
    }

    #[test]
    fn options_are_known_by_their_former_names() {
        let cp =
            cp(&[&["Cargo.toml", "n1:/x", "--clear", "--slow", "fail"]]).expect("known options");
        assert!(cp.no_encrypt && cp.on_slow == garland_protocol::SlowNodes::Fail);
        assert!(cp.typed.iter().any(|(option, _)| option == "no-encrypt"), "{:?}", cp.typed);
    }

    #[test]
    fn archive_stands_for_trees_with_modes_and_times() {
        let words: [&[&str]; 2] = [&["src", "n1:/x"], &["-an", "--delete", "--exclude", "*.o"]];
        let known = cp(&words).expect("known options");
        assert!(known.recursive && known.preserve && known.dry_run && known.delete);
        assert_eq!(kind_of(&known, &Task::Out).unwrap(), Kind::Tree);
        assert!(cp(&[&["src", "n1:/x", "--delete"]]).is_err(), "of a file");
    }

    #[test]
    fn kinds_without_options_pass() {
        for (kind, _) in KINDS {
            assert_eq!(said(kind, &[]), "", "{kind}");
            assert_eq!(said(kind, &["--quiet", "--json"]), "", "{kind}");
        }
    }

    /// Tests each option with the kinds of copies for which it is refused.
    #[test]
    fn what_has_no_effect_is_refused() {
        use Kind::*;
        let table: &[(&[&str], &[Kind])] = &[
            (&["--on-slow=fail"], &[Stream, Stripes, FromFiles, FromTrees, FromStripes, Join]),
            (&["--on-slow=wait"], &[FromFiles, FromTrees, FromStripes, Join]),
            (&["--slow-below=30%"], &[Stream, Stripes, FromFiles, FromTrees, FromStripes, Join]),
            (&["--whole"], &[Join]),
            (&["--verify"], &[Join]),
            (&["--bwlimit=1MB/s"], &[Join]),
            (&["--no-encrypt"], &[Join]),
            (&["--dry-run"], &[Join]),
            (&["--save-plan=x"], &[Join]),
            (&["--rails=2"], &[Join]),
            (&["--buffers=2"], &[Join]),
            (&["--congestion=reno"], &[Join]),
            (&["--progress=json"], &[Join]),
            (&["--no-fsync"], &[Join]),
            (&["--launcher=local"], &[Join]),
            (&["--lab=x"], &[Join]),
            (&["--from=lab:n1"], &[Join]),
            (&["--local-root=x"], &[Join]),
            (&["--mptcp"], &[Join]),
            (&["--cluster=x"], &[Join]),
            (&["--no-trace"], &[Join]),
            (&["--stuck-after=10s"], &[Join]),
            (&["--dead-after=10s"], &[Join]),
            (&["--block-size=1MiB"], &[FromStripes, Join]),
            (&["--buffer-size=1MiB"], &[FromStripes, Join]),
            (&["--preserve"], &[Stream, Join]),
            (&["--order=rack"], &[FromFiles, FromTrees, FromStripes, Join]),
            (&["--order=list"], &[Join]),
            (&["--inject=pause:1ms/1MiB"], &[FromFiles, FromTrees, FromStripes, Join]),
            (&["--force-device"], &[Tree, Stripes, FromTrees, Join]),
        ];
        for (options, refused) in table {
            let name = options[0].split('=').next().unwrap();
            let name = if name == "--buffer-size" { "--block-size" } else { name };
            for (kind, _) in KINDS {
                let said = said(kind, options);
                let wanted = format!("error: {name} has no effect on {kind}\n");
                assert_eq!(said.starts_with(&wanted), refused.contains(&kind), "{kind}: {said}");
                assert_eq!(said.is_empty(), !refused.contains(&kind), "{kind}: {said}");
            }
        }
    }

    /// Tests values that are accepted for some kinds of copies and refused for others.
    #[test]
    fn values_that_change_nothing_are_accepted_and_others_refused() {
        use Kind::*;
        for (kind, option) in [
            (FromFiles, "--shape=auto"),
            (FromTrees, "--shape=tree"),
            (Stream, "--shape=tree"),
            (Join, "--shape=tree"),
            (FromFiles, "--shared"),
            (Object, "--shared"),
            (Join, "--shared"),
            (FromFiles, "--compress=zstd"),
            (Join, "--compress=none"),
            (FromTrees, "--delete"),
            (FromStripes, "--op-size=1MiB"),
            (Join, "--min-ok=1"),
            (Join, "--stripe"),
            (Join, "--recursive"),
            (Join, "--digest"),
            (FromTrees, "--checksum"),
            (Stream, "--recursive"),
        ] {
            assert!(said(kind, &[option]).contains("has no effect on"), "{kind} {option}");
        }
        for (kind, option) in [
            (Stream, "--shape=chain"),
            (Stream, "--on-slow=wait"),
            (Stripes, "--on-slow=wait"),
            (FromFiles, "--compress=none"),
            (FromFiles, "--order=list"),
            (FromFiles, "--min-ok=1"),
            (Tree, "--shape=tree"),
            (Tree, "--delete"),
            (File, "--shared"),
            (FromTrees, "--exclude=x"),
            (FromTrees, "--xattrs"),
        ] {
            assert_eq!(said(kind, &[option]), "", "{kind} {option}");
        }
    }
}
