//! Which kind of copy is asked for, and which options have no effect on it. Such an option is
//! refused, never ignored.

use garland_copy::ends::is_stream;
use garland_copy::gathering::FromNodes;
use garland_remote::elsewhere;
use garland_terminal::failure::Failure;

use super::options::kind::Kind;
use super::options::{Cp, rules};
use super::task::Task;

/// Returns the kind of copy that the arguments and their task ask for.
///
/// # Errors
/// When a source looks like a URL and cannot be parsed as one.
pub fn kind_of(cp: &Cp, task: &Task) -> Result<Kind, Failure> {
    match (task, cp.plan.stripe.is_some(), cp.source.recursive) {
        (Task::Join(_), ..) => return Ok(Kind::Join),
        (Task::In(_), true, _) => return Ok(Kind::FromStripes),
        (Task::In(_), false, true) => return Ok(Kind::FromTrees),
        (Task::In(sources), false, false) => {
            let is_many = sources.len() > 1 || sources.iter().any(FromNodes::is_pattern);
            return Ok(if is_many { Kind::FromMany } else { Kind::FromFiles });
        }
        (Task::Out, true, _) => return Ok(Kind::Stripes),
        (Task::Out, false, _) => {}
    }
    Ok(if elsewhere::address(cp.sources())?.is_some() {
        Kind::Object
    } else if cp.sources().iter().any(|source| is_stream(source)) {
        Kind::Stream
    } else if cp.source.recursive || cp.sources().len() > 1 {
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
            return Err(match rule.hint(kind) {
                "" => failure,
                hint => failure.hint(hint),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
    use garland_fleet::context::Context;

    use super::*;

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

    const KINDS: [(Kind, &[&str]); 11] = [
        (Kind::File, &["Cargo.toml", "n[1-3]:/x"]),
        (Kind::Object, &["s3://bucket/key", "n[1-3]:/x"]),
        (Kind::Stream, &["-", "n[1-3]:/x"]),
        (Kind::Tree, &["-r", "src", "n[1-3]:/x"]),
        (Kind::Stripes, &["--stripe", "Cargo.toml", "n[1-3]:/x"]),
        (Kind::FromFiles, &["n[1-3]:/x", "here"]),
        (Kind::FromMany, &["n[1-3]:/x", "n2:/y", "here"]),
        (Kind::FromMany, &["n[1-3]:/*.log", "here"]),
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
        let parsed =
            cp(&[*words, options]).unwrap_or_else(|error| panic!("{kind} {options:?}: {error}"));
        assert_eq!(Task::new(&parsed).and_then(|task| kind_of(&parsed, &task)).unwrap(), kind);
        let refused = refuse_without_effect(&parsed, kind);
        refused.err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_option_has_a_rule_and_no_rule_is_without_an_option() {
        let program = Args::command();
        let cp = program.find_subcommand("cp").unwrap();
        let arguments = cp.get_arguments().chain(program.get_arguments());
        let mut names: Vec<_> = arguments.filter_map(|argument| argument.get_long()).collect();
        names.sort_unstable();
        let mut ruled: Vec<_> = rules().map(|rule| rule.option).collect();
        ruled.sort_unstable();
        assert_eq!(names, ruled);
    }

    #[test]
    fn options_are_known_by_their_former_names() {
        let parsed =
            cp(&[&["Cargo.toml", "n1:/x", "--clear", "--slow", "fail"]]).expect("known options");
        assert!(
            parsed.tuning.no_encrypt
                && parsed.slow.on_slow == garland_protocol::copy::SlowNodes::Fail
        );
        assert!(
            parsed.typed.iter().any(|(option, _)| option == "no-encrypt"),
            "{:?}",
            parsed.typed
        );
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
        assert_eq!(kind_of(&known, &Task::Out).unwrap(), Kind::Tree);
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
            (
                &["--on-slow=fail"],
                &[Stream, Stripes, FromFiles, FromMany, FromTrees, FromStripes, Join],
            ),
            (&["--on-slow=wait"], &[FromFiles, FromMany, FromTrees, FromStripes, Join]),
            (
                &["--slow-below=30%"],
                &[Stream, Stripes, FromFiles, FromMany, FromTrees, FromStripes, Join],
            ),
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
            (&["--order=rack"], &[FromFiles, FromMany, FromTrees, FromStripes, Join]),
            (&["--order=list"], &[Join]),
            (&["--inject=pause:1ms/1MiB"], &[FromFiles, FromMany, FromTrees, FromStripes, Join]),
            (&["--force-device"], &[Tree, Stripes, FromMany, FromTrees, Join]),
            (&["--no-perms", "-p"], &[Stream, Stripes, FromStripes, Join]),
            (&["--no-times", "-p"], &[Stream, Stripes, FromStripes, Join]),
        ];
        for (options, refused) in table {
            let name = options[0].split('=').next().unwrap();
            let name = if name == "--buffer-size" { "--block-size" } else { name };
            for (kind, _) in KINDS {
                let message = said(kind, options);
                let wanted = format!("error: {name} has no effect on {kind}\n");
                assert_eq!(
                    message.starts_with(&wanted),
                    refused.contains(&kind),
                    "{kind}: {message}"
                );
                assert_eq!(message.is_empty(), !refused.contains(&kind), "{kind}: {message}");
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
            (FromMany, "--checksum"),
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
            (FromMany, "-p"),
            (FromMany, "--verify"),
            (Tree, "-x"),
            (Tree, "--no-times"),
            (Tree, "--modify-window=0"),
            (Tree, "--failed-to=x"),
        ] {
            assert_eq!(said(kind, &[option]), "", "{kind} {option}");
        }
    }
}
