//! The copies of `garland up --spool`, which have the options of `garland cp -a` that mean
//! something there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use garland_copy::lists;
use garland_copy::spec::{CopySpec, SourceSpec};
use garland_core::printable;
use garland_fleet::args::Launch;
use garland_terminal::failure::Failure;

use super::arguments;
use super::options::Cp;
use super::options::kind::Kind;
use super::out;
use super::refusal::refuse_without_effect;

/// Returns the copy of the spool `directory` to `destination` with the words `options` of
/// `garland cp`; that of an entry is [`for_entry`]. With `-a` a link stays a link, and options of
/// trees are known. Lists are read now, once for all entries.
///
/// # Errors
/// When `garland cp` would refuse the options, or they have no effect on a spool.
pub fn parse(
    options: &[OsString],
    directory: &Path,
    destination: OsString,
    launch: &Launch,
) -> Result<CopySpec, Failure> {
    let mut args = Cp::parse_options(options)?;
    if let [other, ..] = &args.paths[..] {
        let message = format!("a spool copies nothing but its entries: {}", printable::path(other));
        return Err(Failure::usage(message).hint("only options may follow `--`"));
    }
    args.paths = vec![directory.to_owned(), destination.into()];
    args.run.launch = launch.clone();
    refuse_without_effect(&args, Kind::Spool)?;
    refuse_lists_from_input(&args)?;
    if args.tuning.bwlimit.is_some() && launch.mptcp {
        return Err(Failure::usage("--bwlimit cannot be used with --mptcp"));
    }
    let parsed = arguments::spec(&args)?;
    out::refuse_to_name_unknown(&parsed)?;
    Ok(parsed)
}

/// Returns the copy of the entry `path` of a spool whose copy is `spec`.
pub fn for_entry(spec: &CopySpec, path: PathBuf) -> CopySpec {
    let source = SourceSpec { paths: vec![path], ..spec.source.clone() };
    CopySpec { source, ..spec.clone() }
}

/// Refuses lists that are gone when the spool is started again: without its patterns it would copy
/// what was to be left out, and remove what was to stay.
fn refuse_lists_from_input(args: &Cp) -> Result<(), Failure> {
    let read_once = args.source.lists().find(|list| lists::is_read_once(list.file));
    let Some(list) = read_once else { return Ok(()) };
    let why = "standard input, or a pipe, is gone when it is started again";
    Err(Failure::usage(format!("a spool cannot read {list}: {why}"))
        .hint("write the list to a file"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsRawFd;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        launch: Launch,
    }

    /// The options that have a meaning for a spool, each with others that it needs.
    const KNOWN: [&[&str]; 35] = [
        &["--recursive"],
        &["--exclude=*.o"],
        &["--include=*.o"],
        &["--exclude-from=/dev/null"],
        &["--delete"],
        &["--delete", "--max-delete=1"],
        &["-x"],
        &["--no-perms"],
        &["--no-times"],
        &["--xattrs"],
        &["-p"],
        &["--whole"],
        &["-c"],
        &["--modify-window=1"],
        &["--no-fsync"],
        &["--verify"],
        &["--order=list"],
        &["--shape=tree"],
        &["--rails=2"],
        &["--block-size=1MiB"],
        &["--buffers=2"],
        &["--on-slow=fail"],
        &["--slow-below=30%"],
        &["--stuck-after=10s"],
        &["--dead-after=10s"],
        &["--compress=zstd"],
        &["--no-encrypt"],
        &["--bwlimit=1MB/s"],
        &["--congestion=reno"],
        &["--no-trace"],
        &["--keep-traces=3"],
        &["-q"],
        &["--progress=json"],
        &["-v"],
        &[],
    ];

    /// The others, each with a part of what is said.
    const UNKNOWN: [(&[&str], &str); 28] = [
        (&["-n"], "--dry-run has no effect on a spool"),
        (&["-n", "--delete"], "--dry-run has no effect on a spool"),
        (&["--files-from=list"], "--files-from has no effect on a spool"),
        (&["--failed-to=list"], "--failed-to has no effect on a spool"),
        (&["--save-plan=plan"], "--save-plan has no effect on a spool"),
        (&["--min-ok=1"], "--min-ok has no effect on a spool"),
        (&["--force-device"], "--force-device has no effect on a spool"),
        (&["--inject=source-disk:1ms/1MiB"], "--inject has no effect on a spool"),
        (&["--launcher=local"], "--launcher has no effect on a spool"),
        (&["--mptcp"], "--mptcp has no effect on a spool"),
        (&["--lab=x"], "--lab has no effect on a spool"),
        (&["--from=lab:n1"], "--from has no effect on a spool"),
        (&["--listen=::"], "--listen has no effect on a spool"),
        (&["--port=4100"], "--port has no effect on a spool"),
        (&["--local-root=x"], "--local-root has no effect on a spool"),
        (&["--join=last"], "--join has no effect on a spool"),
        (&["--resume=last"], "--resume has no effect on a spool"),
        (&["--stripe"], "cannot be used with"),
        (&["--shared"], "cannot be used with"),
        (&["--digest"], "cannot be used with"),
        (&["--op-size=1MiB"], "--op-size has no effect on a spool"),
        (&["--op-overlap=1"], "required"),
        (&["--json"], "unexpected argument"),
        (&["--cluster=x"], "unexpected argument"),
        (&["-v", "--whole"], "-v names what differs"),
        (&["other"], "a spool copies nothing but its entries: other"),
        (&["--", "other"], "a spool copies nothing but its entries: other"),
        (&["--exclude-from=-"], "a spool cannot read --exclude-from -: standard input"),
    ];

    fn parsed(launch: &[&str], options: &[&str]) -> Result<CopySpec, Failure> {
        let launch = [&["up"], launch].concat();
        let Args { launch } = Args::try_parse_from(launch).expect("known options");
        let options: Vec<OsString> = options.iter().map(OsString::from).collect();
        parse(&options, Path::new("out"), "n1:/x/".into(), &launch)
    }

    fn said(launch: &[&str], options: &[&str]) -> String {
        parsed(launch, options).err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_spool_has_the_options_that_mean_something_for_it() {
        for options in KNOWN {
            assert_eq!(said(&[], options), "", "{options:?}");
        }
        for (options, wanted) in UNKNOWN {
            let message = said(&[], options);
            assert!(message.contains(wanted), "{options:?}: {message}");
            assert!(!message.contains("error: error:"), "{message}");
        }
        assert!(said(&["--mptcp"], &["--bwlimit=1MB/s"]).contains("cannot be used with --mptcp"));
    }

    /// A new option is refused until somebody says what it means for a spool, and is tested here.
    #[test]
    fn every_option_is_tried_with_a_spool() {
        let command = <Cp as clap::Args>::augment_args(clap::Command::new("cp"));
        let unknown = UNKNOWN.iter().map(|(words, _)| *words);
        let words: Vec<&str> = KNOWN.into_iter().chain(unknown).flatten().copied().collect();
        let is_tried = |long: &str, short: Option<char>| {
            words.iter().any(|word| {
                let name = word.split('=').next().unwrap_or_default();
                name.strip_prefix("--") == Some(long)
                    || short.is_some_and(|short| *word == format!("-{short}"))
            })
        };
        let options = command.get_arguments().filter_map(|own| Some((own.get_long()?, own)));
        let left: Vec<_> = options
            .filter(|(long, own)| !is_tried(long, own.get_short()))
            .map(|(long, _)| long)
            .collect();
        // The spool itself gives this one.
        assert_eq!(left, ["archive"]);
    }

    #[test]
    fn entries_of_a_spool_have_its_options_and_patterns_read_once() {
        let list = std::env::temp_dir().join(format!("garland-spooled-{}", std::process::id()));
        fs::write(&list, "*.o\n").expect("it is written");
        let from = format!("--exclude-from={}", list.display());
        let spec = parsed(&[], &[&from, "--delete"]).expect("a spool");
        fs::remove_file(&list).expect("it is removed");
        let entry = for_entry(&spec, "out/file".into());
        assert_eq!(entry.source.paths, [Path::new("out/file")]);
        assert!(entry.source.preserves && entry.source.removes_others);
        assert_eq!(entry.source.raw_excludes(), [b"*.o".to_vec()]);
    }

    #[test]
    fn lists_that_come_by_a_descriptor_are_no_lists_of_a_spool() {
        let file = fs::File::open("Cargo.toml").expect("a file");
        for place in ["/dev/fd", "/proc/self/fd"] {
            let option = format!("--exclude-from={place}/{}", file.as_raw_fd());
            assert!(said(&[], &[&option]).contains("a spool cannot read --exclude"), "{option}");
        }
        assert!(said(&[], &["--exclude-from=/dev/stdin"]).contains("a spool cannot read"));
    }
}
