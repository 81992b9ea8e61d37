//! The source or destination of a copy: a local path, or `NODES:PATH`.

use std::ffi::OsStr;
use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use thiserror::Error;

/// The source or destination of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A path on this machine.
    Local(PathBuf),
    /// A path on each of several nodes.
    Nodes {
        /// The node list, not expanded; never empty.
        nodes: String,
        /// The path on these nodes; not necessarily UTF-8. If the argument has none, it is `.`,
        /// where relative paths begin: the home directory.
        path: PathBuf,
    },
    /// Standard input or output, written `-`.
    Pipe,
    /// A shell command on this machine, written `|COMMAND`; not necessarily UTF-8.
    Command(Vec<u8>),
}

/// The error for an argument that is not a source or destination. It contains the argument, with
/// invalid UTF-8 replaced.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The argument is empty.
    #[error("the path is empty")]
    Empty,
    /// The node list before the colon is empty.
    #[error("`{0}` has no nodes before the colon: write NODES:PATH")]
    NoNodes(String),
    /// Nothing follows the nodes of a lab, not even a colon.
    #[error("`{argument}` has no path after the nodes")]
    NoPath {
        /// The argument, with invalid UTF-8 replaced.
        argument: String,
        /// A similar valid argument, to suggest.
        meant: String,
    },
    /// The argument has an IPv6 address without brackets.
    #[error("`{argument}` has an IPv6 address without brackets")]
    BareAddress {
        /// The argument, with invalid UTF-8 replaced.
        argument: String,
        /// The argument with brackets, to suggest.
        meant: String,
    },
    /// A bracket before the colon is never closed.
    #[error("`{0}` has a `[` without a `]`")]
    Unclosed(String),
    /// The node list before the colon is not UTF-8.
    #[error("the nodes in `{0}` are not valid UTF-8")]
    NotText(String),
}

/// Parses one argument of `garland cp`.
///
/// As with `scp`, the first colon separates nodes and path, and an argument with a slash before the
/// colon is a local path: `./a:b` is a file on this machine. Colons and slashes in brackets
/// (`n[1-9/2]`), the colon of a `lab:` that begins a name, and slashes in the path of `^file` do
/// not count. Any bytes may follow the colon.
///
/// ```
/// use std::ffi::OsStr;
/// use garland_core::cluster::target::{Target, parse};
/// let nodes = Target::Nodes { nodes: "lab:n[01-20]".into(), path: "/data/x".into() };
/// assert_eq!(parse(OsStr::new("lab:n[01-20]:/data/x")), Ok(nodes));
/// assert_eq!(parse(OsStr::new("./a:b")), Ok(Target::Local("./a:b".into())));
/// ```
///
/// Addresses such as `s3://bucket/key` would be nodes here: callers ask `garland_remote::elsewhere`
/// first.
///
/// # Errors
/// [`TargetError`] if the argument is empty, the nodes or the path are missing, a bracket is not
/// closed, or the nodes are not UTF-8.
pub fn parse(argument: &OsStr) -> Result<Target, TargetError> {
    let bytes = argument.as_bytes();
    if bytes.is_empty() {
        return Err(TargetError::Empty);
    }
    if bytes == b"-" {
        return Ok(Target::Pipe);
    }
    if let [b'|', line @ ..] = bytes {
        return Ok(Target::Command(line.to_vec()));
    }
    let shown = || argument.to_string_lossy().into_owned();
    let colon = match split_point(bytes) {
        Split::Local => return Ok(Target::Local(argument.into())),
        Split::Unclosed => return Err(TargetError::Unclosed(shown())),
        Split::Colon(0) => return Err(TargetError::NoNodes(shown())),
        Split::LabOnly => {
            let argument = shown();
            let (nodes, path) = argument.split_once('/').unwrap_or((&argument, "path"));
            let meant = format!("{nodes}:/{path}");
            return Err(TargetError::NoPath { argument, meant });
        }
        Split::Colon(colon) => colon,
    };
    let nodes =
        str::from_utf8(&bytes[..colon]).map_err(|_| TargetError::NotText(shown()))?.to_owned();
    let path = &bytes[colon + 1..];
    if let Some(bare) = bare_address(bytes, colon) {
        let argument = shown();
        let BareAddress { before, address } = bare;
        let meant = format!("{before}[{address}]{}", &argument[before.len() + address.len()..]);
        return Err(TargetError::BareAddress { argument, meant });
    }
    let path = if path.is_empty() { b"." } else { path };
    Ok(Target::Nodes { nodes, path: OsStr::from_bytes(path).into() })
}

/// An IPv6 address without brackets.
struct BareAddress<'a> {
    /// What precedes it: other nodes, a user and the at sign, or nothing.
    before: &'a str,
    /// With its zone, if it has one.
    address: &'a str,
}

/// Returns the IPv6 address that is the last node of a list, up to the last colon that precedes a
/// slash, if there is one. `first` is the index of the first colon.
fn bare_address(argument: &[u8], first: usize) -> Option<BareAddress<'_>> {
    let end = argument.iter().position(|byte| *byte == b'/').unwrap_or(argument.len());
    let last = argument[..end].iter().rposition(|byte| *byte == b':')?;
    let nodes = str::from_utf8(&argument[..last]).ok()?;
    let begin = nodes.get(..first)?.rfind([',', '!', ' ', '@']).map_or(0, |at| at + 1);
    let (before, address) = nodes.split_at(begin);
    let bare = address.split_once('%').map_or(address, |(bare, _)| bare);
    bare.parse::<Ipv6Addr>().is_ok().then_some(BareAddress { before, address })
}

enum Split {
    /// No colon separates nodes from a path, so the argument is a local path.
    Local,
    /// The index of the separating colon.
    Colon(usize),
    /// The only colon belongs to a `lab:`, so there are nodes but no path.
    LabOnly,
    /// The colon is after a bracket that is not closed.
    Unclosed,
}

fn split_point(bytes: &[u8]) -> Split {
    let mut in_brackets = false;
    let mut item = 0;
    let mut lab = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b']' => in_brackets = false,
            _ if in_brackets => {}
            b'[' => in_brackets = true,
            b',' | b'!' | b' ' => item = at + 1,
            b'/' if bytes[item] != b'^' => return if lab { Split::LabOnly } else { Split::Local },
            // `lab:/path` is a node named lab; `lab:n1` begins the name of a lab's node.
            b':' if &bytes[item..at] == b"lab"
                && !matches!(bytes.get(at + 1), Some(b'/') | None) =>
            {
                lab = true;
            }
            b':' => return Split::Colon(at),
            _ => {}
        }
    }
    match (in_brackets && bytes.contains(&b':'), lab) {
        (true, _) => Split::Unclosed,
        (false, true) => Split::LabOnly,
        (false, false) => Split::Local,
    }
}

/// Returns whether what is copied to `path` on a node goes to a process, and is no file there: to
/// standard output (`-`), or to a command after `|`.
#[must_use]
pub fn is_process(path: &[u8]) -> bool {
    path == b"-" || path.starts_with(b"|")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes(nodes: &str, path: &str) -> Target {
        Target::Nodes { nodes: nodes.into(), path: path.into() }
    }

    #[test]
    fn parts_nodes_from_paths() {
        let table = [
            ("n[01-20]:/data/x", nodes("n[01-20]", "/data/x")),
            ("n1:x", nodes("n1", "x")),
            ("n[1-3]:", nodes("n[1-3]", ".")),
            ("lab:n1:", nodes("lab:n1", ".")),
            ("n1:/a:b", nodes("n1", "/a:b")),
            ("n1:a b\nc", nodes("n1", "a b\nc")),
            ("n[1-9/2],r[1,3]:/x", nodes("n[1-9/2],r[1,3]", "/x")),
            ("lab:n[1-20]:/path", nodes("lab:n[1-20]", "/path")),
            ("lab:n1,lab:n2!lab:n3:/p", nodes("lab:n1,lab:n2!lab:n3", "/p")),
            ("lab:/path", nodes("lab", "/path")),
            ("[fd99::11]:/x", nodes("[fd99::11]", "/x")),
            ("n1,bob@[fd99::11]:x:y", nodes("n1,bob@[fd99::11]", "x:y")),
            ("fd99:a:b", nodes("fd99", "a:b")),
            ("local[1-8]:/data/", nodes("local[1-8]", "/data/")),
            ("root@n1:/x", nodes("root@n1", "/x")),
            ("@gpu,@slurm:/x", nodes("@gpu,@slurm", "/x")),
            ("^/etc/hosts.txt:/x", nodes("^/etc/hosts.txt", "/x")),
            ("n[1-3]:|zstd -d > '/a:b'", nodes("n[1-3]", "|zstd -d > '/a:b'")),
            ("|ssh n1:x tar c / [", Target::Command(b"ssh n1:x tar c / [".to_vec())),
            ("n1,^a/b!n2:/x", nodes("n1,^a/b!n2", "/x")),
        ];
        for (argument, target) in table {
            assert_eq!(parse(OsStr::new(argument)), Ok(target), "{argument}");
        }
    }

    #[test]
    fn takes_the_rest_for_local_paths() {
        for argument in
            ["x", "/a/b", "./a:b", "/a:b", "a/b:c", "dir,x/y:z", "a[b", "a]b", "..", "n[1:2]"]
        {
            assert_eq!(
                parse(OsStr::new(argument)),
                Ok(Target::Local(argument.into())),
                "{argument}"
            );
        }
        assert_eq!(parse(OsStr::new("-")), Ok(Target::Pipe));
    }

    #[test]
    fn keeps_bytes_that_are_no_text() {
        let target = parse(OsStr::from_bytes(b"n1:/caf\xe9:\xff")).expect("nodes and a path");
        assert_eq!(
            target,
            Target::Nodes { nodes: "n1".into(), path: OsStr::from_bytes(b"/caf\xe9:\xff").into() }
        );
        let local = OsStr::from_bytes(b"caf\xe9");
        assert_eq!(parse(local), Ok(Target::Local(local.into())));
    }

    #[test]
    fn says_what_is_missing() {
        let message =
            |bytes: &[u8]| parse(OsStr::from_bytes(bytes)).expect_err("no target").to_string();
        insta::assert_snapshot!(message(b""), @"the path is empty");
        insta::assert_snapshot!(message(b":/x"), @"`:/x` has no nodes before the colon: write NODES:PATH");
        insta::assert_snapshot!(message(b"lab:n1"), @"`lab:n1` has no path after the nodes");
        insta::assert_snapshot!(message(b"fd99::11:/x"), @"`fd99::11:/x` has an IPv6 address without brackets");
        insta::assert_snapshot!(message(b"bob@fd99::11:/x"), @"`bob@fd99::11:/x` has an IPv6 address without brackets");
        insta::assert_snapshot!(message(b"n1,fd99::11:x"), @"`n1,fd99::11:x` has an IPv6 address without brackets");
        insta::assert_snapshot!(message(b"fe80::1%eth0:/x"), @"`fe80::1%eth0:/x` has an IPv6 address without brackets");
        insta::assert_snapshot!(message(b"n[1-3:/x"), @"`n[1-3:/x` has a `[` without a `]`");
        insta::assert_snapshot!(message(b"caf\xe9:x"), @"the nodes in `caf�:x` are not valid UTF-8");
    }

    #[test]
    fn guesses_what_was_meant() {
        for (argument, wanted) in [("lab:n1", "lab:n1:/path"), ("lab:n1/x/y", "lab:n1:/x/y")] {
            let error = parse(OsStr::new(argument)).expect_err("no target");
            assert!(matches!(error, TargetError::NoPath { meant, .. } if meant == wanted));
        }
        for (argument, wanted) in [
            ("bob@fd99::11:/x", "bob@[fd99::11]:/x"),
            ("n1,fd99::11:x", "n1,[fd99::11]:x"),
            ("fe80::1%eth0:/x:y", "[fe80::1%eth0]:/x:y"),
        ] {
            let error = parse(OsStr::new(argument)).expect_err("no target");
            assert!(matches!(error, TargetError::BareAddress { meant, .. } if meant == wanted));
        }
    }

    proptest! {
        #[test]
        fn loses_no_byte(bytes in proptest::collection::vec(prop_oneof![Just(b':'), Just(b'['), Just(b'/'), any::<u8>()], 1..40)) {
            match parse(OsStr::from_bytes(&bytes)) {
                Ok(Target::Local(path)) => prop_assert_eq!(path.as_os_str().as_bytes(), &bytes[..]),
                Ok(Target::Nodes { nodes, path }) => {
                    let joined = [nodes.as_bytes(), b":", path.as_os_str().as_bytes()].concat();
                    // The home directory, which is not named.
                    let home = [&bytes[..], b"."].concat();
                    let is_home = bytes.ends_with(b":") && joined == home;
                    prop_assert!(is_home || joined == bytes, "{joined:?}");
                }
                Ok(Target::Pipe) => prop_assert_eq!(bytes, b"-"),
                Ok(Target::Command(line)) => prop_assert_eq!(&[b"|", &line[..]].concat(), &bytes),
                Err(_) => {}
            }
        }
    }
}
