//! On which kinds of copies each option of `garland cp` has an effect. An option without an effect is
//! refused, never ignored.

use super::kind::{COPY, JOIN, Kind, Kinds};
use super::{Cp, checks, plan, run, slow, source, tuning};
use garland_terminal::failure::Failure;

/// The kinds of copies on which an option has an effect.
#[derive(Clone, Copy)]
pub struct Rule {
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

pub const ONLY_TO_NODES: &str = "it applies only to copies to nodes";

/// The rules of the options that name a copy which runs or ran. Conflicts that depend on values, on other options or
/// on the type of a file are reported elsewhere: by the argument parser, or when the source is opened.
const RULES: &[Rule] = &[
    Rule::new("join", JOIN, ""),
    // The command line of the resumed copy takes the place of this one.
    Rule::new("resume", 0, ""),
];

fn rules() -> impl Iterator<Item = &'static Rule> {
    let groups =
        [RULES, source::RULES, plan::RULES, slow::RULES, checks::RULES, tuning::RULES, run::RULES];
    groups.into_iter().flatten()
}

impl Rule {
    /// Returns a rule for an option that has an effect on `kinds`.
    pub const fn new(option: &'static str, kinds: Kinds, hint: &'static str) -> Self {
        Self { option, kinds, same: (0, &[]), hint }
    }

    /// Returns the rule of an option that has an effect on all copies.
    pub const fn everywhere(option: &'static str) -> Self {
        Self::new(option, COPY, "")
    }

    /// Also accepts the option on `kinds` if its value is one of `values`, which equal the default.
    pub const fn same(self, kinds: Kinds, values: &'static [&'static str]) -> Self {
        Self { same: (kinds, values), ..self }
    }

    fn allows(&self, kind: Kind, value: &str) -> bool {
        let (kinds, values) = self.same;
        self.kinds & kind.bit() != 0 || kinds & kind.bit() != 0 && values.contains(&value)
    }
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

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

    use super::*;
    use crate::cp::task::Task;
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
        assert_eq!(Task::new(&cp).and_then(|task| Kind::new(&cp, &task)).unwrap(), kind);
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
        assert!(cp.tuning.no_encrypt && cp.slow.on_slow == garland_protocol::SlowNodes::Fail);
        assert!(cp.typed.iter().any(|(option, _)| option == "no-encrypt"), "{:?}", cp.typed);
    }

    #[test]
    fn archive_stands_for_trees_with_modes_and_times() {
        let words: [&[&str]; 2] = [&["src", "n1:/x"], &["-an", "--delete", "--exclude", "*.o"]];
        let known = cp(&words).expect("known options");
        assert!(
            known.source.recursive
                && known.source.preserve
                && known.source.delete
                && known.run.dry_run
        );
        assert_eq!(Kind::new(&known, &Task::Out).unwrap(), Kind::Tree);
        assert!(cp(&[&["src", "n1:/x", "--delete"]]).is_err(), "of a file");
    }

    #[test]
    fn options_without_what_they_change_are_refused() {
        for words in [
            &["--max-delete=1", "-a"][..],
            &["--no-times"],
            &["--no-perms"],
            &["--no-perms", "-a", "--xattrs"],
            &["-x"],
            &["--modify-window=1"],
            &["--modify-window=1", "-ac"],
            &["--modify-window=-1", "-a"],
            &["--failed-to=x"],
        ] {
            assert!(cp(&[&["src", "n1:/x"], words]).is_err(), "{words:?}");
        }
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
            (&["--no-perms", "-p"], &[Stream, Stripes, FromStripes, Join]),
            (&["--no-times", "-p"], &[Stream, Stripes, FromStripes, Join]),
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
            (FromTrees, "--modify-window=1"),
            (FromTrees, "--failed-to=x"),
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
            (FromTrees, "-x"),
            (FromTrees, "--no-perms"),
            (FromFiles, "-p"),
            (Tree, "-x"),
            (Tree, "--no-times"),
            (Tree, "--modify-window=0"),
            (Tree, "--failed-to=x"),
        ] {
            assert_eq!(said(kind, &[option]), "", "{kind} {option}");
        }
    }
}
