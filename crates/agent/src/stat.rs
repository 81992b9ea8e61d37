//! Examines files on a node, before a copy from it is planned.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_core::plan::ASIDE;
use garland_core::printable;
use garland_core::tree::{Pattern, SourcePath};
use garland_dataplane::source::{Content, Source, SourceError};
use garland_dataplane::store::MANIFEST;
use garland_dataplane::tree::{ScanOptions, Sources, Tally, TreeSource, sum_absence};
use garland_protocol::FromAgent;
use garland_protocol::copy::{
    Absence, MANIFEST_MAX, SIGHTS_MAX, StatReply, StatRequest, TreeStat, TreeStatRequest,
};
use garland_protocol::wire::MAX_MESSAGE;
use garland_sys::confine::Root;
use rustix::fs::Dir;

use crate::controller::Controller;
use crate::error::{OrderError, cannot};
use crate::progress::at_intervals;

/// The maximum size of the replies in an answer in bytes; the rest of the message is short.
const ANSWER_MAX: usize = MAX_MESSAGE - 4096;

/// Examines paths in a separate thread, and reports to the head.
pub fn start(controller: &Controller, request: StatRequest) {
    let work = move |controller: &Controller| {
        let reply = examine(controller, &request).map_err(|error| error.to_string());
        controller.session.send(&FromAgent::Looked(reply));
    };
    controller.spawn("stat", work, |reason| FromAgent::Looked(Err(reason)));
}

fn examine(controller: &Controller, request: &StatRequest) -> Result<Vec<StatReply>, OrderError> {
    if let Some(what) = &request.tree {
        return Ok(vec![tree(controller, &request.paths, what)?]);
    }
    let [path] = &request.paths[..] else { return Err("it was not asked for one file".into()) };
    let path = Path::new(OsStr::from_bytes(path.bytes()));
    match request.stripes {
        true => stripes(&controller.agent.root, path),
        false => Ok(vec![file(&controller.agent.root, path)?]),
    }
}

fn file(root: &Root, path: &Path) -> Result<StatReply, OrderError> {
    let source = Source::open_in(root, path).map_err(|error| match error {
        SourceError::Directory(_) => {
            OrderError::from(format!("{error}, and directories are copied with -r"))
        }
        error => error.into(),
    })?;
    let mode = source.mode().map_err(cannot(format!("stat {}", printable::path(path))))?;
    let length = Some(source.length());
    let modified = source.modified();
    Ok(StatReply { suffix: Vec::new(), length, modified, mode, manifest: Vec::new(), tree: None })
}

/// Scans what is at `paths` and below, and keeps it for the copy. A single regular file is reported
/// as a file, unless a pattern has found it.
fn tree(
    controller: &Controller,
    paths: &[SourcePath],
    what: &TreeStatRequest,
) -> Result<StatReply, OrderError> {
    let Controller { agent, session } = controller;
    let still_looks = at_intervals(|| session.send(&FromAgent::Looking));
    let stop = || {
        still_looks();
        session.is_over()
    };
    let excludes = what.excludes.iter().map(|pattern| Pattern::parse(pattern));
    let options = ScanOptions {
        sweep: false,
        excludes: excludes.collect::<Result<_, _>>().map_err(|error| error.to_string())?,
        attributes: what.attributes,
        one_file_system: what.one_file_system,
        root: &agent.root,
        stop: &stop,
    };
    let found = match paths {
        [SourcePath::Literal(path)] => one_tree(path, what, &options)?,
        _ => {
            let sources = Sources::find(paths, &agent.root, &stop)?;
            match paths {
                [path] if sources.is_one_literal() => one_tree(path.bytes(), what, &options)?,
                _ => Found::Tree(Box::new(TreeSource::open_found(
                    sources,
                    what.files_only,
                    &options,
                )?)),
            }
        }
    };
    let tree = match found {
        Found::File(path) => return file(&agent.root, path),
        Found::Tree(tree) => tree.on_disk(agent.disk.as_ref()),
    };
    let Tally { files, folders, links } = tree.tally();
    let length = tree.length();
    let absence = match what.tells_absence {
        true => sum_absence(&tree.left_out()).within(ANSWER_MAX / 2),
        false => Absence::default(),
    };
    let number = session.keep(tree).ok_or("too many trees in one session: copy fewer at a time")?;
    Ok(StatReply {
        suffix: Vec::new(),
        length: Some(length),
        modified: (0, 0),
        mode: 0,
        manifest: Vec::new(),
        tree: Some(TreeStat { number, files, folders, links, absence }),
    })
}

/// What is at the only path of a request.
enum Found<'a> {
    /// The file with this path.
    File(&'a Path),
    Tree(Box<TreeSource>),
}

/// Scans what is at the literal path `path`.
fn one_tree<'a>(
    path: &'a [u8],
    what: &TreeStatRequest,
    options: &ScanOptions<'_>,
) -> Result<Found<'a>, OrderError> {
    let own = Path::new(OsStr::from_bytes(path));
    if what.files_only {
        return Ok(Found::File(own));
    }
    let tree = TreeSource::open(&[own], options)?;
    let Tally { files, folders, links } = tree.tally();
    let is_file = (files, folders, links) == (1, 0, 0) && !path.ends_with(b"/");
    Ok(if is_file { Found::File(own) } else { Found::Tree(Box::new(tree)) })
}

/// Returns all stripes of the file `path` that have a manifest.
fn stripes(root: &Root, path: &Path) -> Result<Vec<StatReply>, OrderError> {
    let shown = printable::path(path);
    let name = path.file_name().ok_or_else(|| format!("{shown} does not name a file"))?;
    let above = path.parent().unwrap_or(Path::new(""));
    let folder = root
        .open_dir(above, false)
        .map_err(cannot(format!("open the directory {}", printable::path(above))))?;
    let mut sights = Vec::new();
    let mut room = ANSWER_MAX;
    for suffix in suffixes(&folder, name.as_bytes())? {
        let at = |end: &str| {
            let mut name = name.to_owned();
            name.push(OsStr::from_bytes(&suffix));
            name.push(end);
            above.join(name)
        };
        let manifest = match read_manifest(root, &at(MANIFEST)) {
            Ok(text) => text,
            // A copy that finishes may remove these at any time.
            Err(_) if suffix.starts_with(ASIDE.as_bytes()) => continue,
            Err(error) => return Err(error),
        };
        let here = file(root, &at("")).ok();
        let length = here.as_ref().and_then(|here| here.length);
        let (modified, mode) = here.map_or(((0, 0), 0), |here| (here.modified, here.mode));
        room = room.saturating_sub(manifest.len() + suffix.len() + 64);
        if room == 0 || sights.len() == SIGHTS_MAX {
            return Err(format!("too many stripes of {shown}: remove those of old copies").into());
        }
        sights.push(StatReply { suffix, length, modified, mode, manifest, tree: None });
    }
    Ok(sights)
}

/// Returns the suffixes of the stripes of the file `start` in `folder`: what follows `start` in
/// their names. The suffix of a stripe that a newer copy was replacing begins with a tag.
fn suffixes(folder: &OwnedFd, start: &[u8]) -> Result<Vec<Vec<u8>>, OrderError> {
    let entries =
        Dir::read_from(folder).map_err(|error| cannot("read the directory")(error.into()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
    let is_stripe = |rest: &[u8]| {
        let rest = rest.strip_prefix(ASIDE.as_bytes()).map_or(rest, |rest| {
            let tag = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            &rest[tag..]
        });
        rest.starts_with(b".stripe-")
    };
    let ours = names.filter(|entry| entry.strip_prefix(start).is_some_and(is_stripe));
    let stripes = ours.filter_map(|entry| entry.strip_suffix(MANIFEST.as_bytes()).map(Vec::from));
    let mut suffixes: Vec<_> = stripes.map(|entry| entry[start.len()..].to_vec()).collect();
    suffixes.sort();
    Ok(suffixes)
}

fn read_manifest(root: &Root, path: &Path) -> Result<Vec<u8>, OrderError> {
    let shown = printable::path(path);
    let source = Source::open_in(root, path)?;
    if source.length() > MANIFEST_MAX as u64 {
        return Err(format!("{shown} is not a manifest: it has {} bytes", source.length()).into());
    }
    let mut bytes = Vec::new();
    let read = source.file().take(MANIFEST_MAX as u64).read_to_end(&mut bytes);
    read.map_err(cannot(format!("read {shown}")))?;
    Ok(bytes)
}
