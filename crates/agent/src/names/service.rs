//! The orders of a controller about names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::printable;
use garland_dataplane::manifest::{ManifestReader, real_path};
use garland_dataplane::store::target;
use garland_protocol::names::{
    HolderKind, MANIFEST_PIECE_MAX, NAME_MANIFEST_MAX, NameEntry, NameHolder, NameRecord,
    NamesEvent, NamesOrder, Roster,
};
use garland_protocol::wire::ShownKey;
use garland_protocol::{FromAgent, Role};
use garland_sys::clock;

use super::store::NameStore;
use crate::agent::Agent;
use crate::controller::Controller;
use crate::error::{OrderError, cannot};
use crate::progress::at_intervals;
use crate::session::Session;

/// Obeys the orders of one controller about names. What it reads for it ends when this is dropped.
pub struct NamesService {
    controller: Controller,
    /// The pieces of the manifest that the next order keeps.
    manifest: Vec<u8>,
    stop: Arc<AtomicBool>,
}

impl NamesService {
    /// Creates the service of a controller.
    pub fn new(controller: &Controller) -> Self {
        Self { controller: controller.clone(), manifest: Vec::new(), stop: Arc::default() }
    }

    /// Executes an order, in a thread of its own because it uses the disk.
    pub fn obey(&mut self, order: NamesOrder) {
        let mut manifest = Vec::new();
        let stop = Arc::clone(&self.stop);
        match &order {
            NamesOrder::Piece(piece, _) => {
                if self.manifest.len() + piece.len() <= NAME_MANIFEST_MAX {
                    self.manifest.extend_from_slice(piece);
                }
                return;
            }
            NamesOrder::Keep(..) | NamesOrder::Register { .. } | NamesOrder::Members => {
                manifest = std::mem::take(&mut self.manifest);
            }
            _ => {}
        }
        let work = move |Controller { agent, session }: &Controller| {
            if let Err(error) = execute(agent, session, order, &manifest, &stop) {
                send(session, NamesEvent::End(Err(error.to_string())));
            }
        };
        let failed = |reason| FromAgent::Names(NamesEvent::End(Err(reason)));
        self.controller.spawn("names", work, failed);
    }
}

impl Drop for NamesService {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn execute(
    agent: &Agent,
    session: &Session,
    order: NamesOrder,
    manifest: &[u8],
    stop: &AtomicBool,
) -> Result<(), OrderError> {
    match order {
        NamesOrder::Find(name) => {
            let each = |entry| send(session, NamesEvent::Entry(Box::new(entry)));
            opened_store(agent)?
                .find(name.as_deref(), each)
                .map_err(cannot("read the list of names"))?;
            send(session, NamesEvent::End(Ok(())));
        }
        NamesOrder::Manifest(name) => {
            let sent =
                opened_store(agent)?.open_manifest(&name).and_then(|it| send_file(session, it));
            sent.map_err(cannot(format!("read the manifest of {name}")))?;
        }
        NamesOrder::Keep(entry, key) => {
            let store = opened_store(agent)?;
            let before = store.find_one(entry.record.name());
            let valid = store.keep(&entry, manifest, &key, clock::wall_ns())?;
            // What had ended before is not looked for again: there may be many.
            let had_content = before.is_some_and(|before| before.record.content().is_some());
            if valid.content().is_none() && had_content {
                agent.holdings.end(&valid)?;
            }
            send(session, NamesEvent::Kept(Box::new(valid)));
        }
        NamesOrder::Digest(path) => digest(agent, session, &path, stop)?,
        NamesOrder::Locate { path, base, is_tree } => {
            let given = Path::new(OsStr::from_bytes(&path));
            let base = OsStr::from_bytes(&base);
            let place = match is_tree {
                true => given.join(base),
                false => {
                    let (folder, name) = target(&agent.root, given, base);
                    folder.join(name)
                }
            };
            let at = agent.root.find(&place).and_then(|entry| real_path(&agent.root, &entry));
            let at = at.map_err(cannot(format!("find {}", printable::path(&place))))?;
            send(session, NamesEvent::Path(at));
        }
        NamesOrder::MemberKey { fresh, challenge } => {
            let own = agent.members.own_key(fresh);
            let shown = ShownKey::new(&own, &session.caller.key, &agent.keys.public, &challenge);
            let shown = shown.ok_or("the controller's key is not a valid one")?;
            send(session, NamesEvent::Key(shown));
            send(session, NamesEvent::End(Ok(())));
        }
        NamesOrder::Members => {
            let roster = Roster::parse(manifest)?;
            agent.keep_members(roster).map_err(cannot("keep the list of members"))?;
            send(session, NamesEvent::End(Ok(())));
        }
        NamesOrder::Register { record, path } => {
            register(agent, session, &record, manifest, &path)?;
            send(session, NamesEvent::End(Ok(())));
        }
        NamesOrder::Hold(name, root, holder) => {
            is_node(&holder)?;
            agent.fetchers.lock().end(root, &holder);
            opened_store(agent)?.hold(&name, root, holder, |node| agent.members.has(node))?;
            send(session, NamesEvent::End(Ok(())));
        }
        NamesOrder::Fetch(name, root, holder) => {
            fetch(agent, session, &name, root, &holder)?;
            send(session, NamesEvent::End(Ok(())));
        }
        NamesOrder::Piece(..) => {}
    }
    Ok(())
}

/// Makes the manifest of the file or directory `path`, and says all the while that it reads on.
fn digest(
    agent: &Agent,
    session: &Session,
    path: &[u8],
    stop: &AtomicBool,
) -> Result<(), OrderError> {
    let progress = at_intervals(|| send(session, NamesEvent::Reading));
    let records = &agent.config.records;
    let disk = agent.disk.as_deref();
    let reader = ManifestReader { root: &agent.root, records, disk, stop, progress: &progress };
    let (real, manifest) = reader.read(Path::new(OsStr::from_bytes(path)))?;
    send(session, NamesEvent::Path(real));
    pieces(session, &manifest.encode()?.0);
    Ok(())
}

/// Serves a content from a path of this node from now on, or no longer if its name has ended.
fn register(
    agent: &Agent,
    session: &Session,
    record: &NameRecord,
    manifest: &[u8],
    path: &[u8],
) -> Result<(), OrderError> {
    let is_signed = || agent.members.records().is_some_and(|key| record.is_signed_by(&key));
    if session.grant().role != Role::Controller && !is_signed() {
        return Err("the record of the content is not one of this cluster".into());
    }
    match record.content() {
        Some(_) => agent.holdings.register(record, manifest, path)?,
        None => agent.holdings.end(record)?,
    }
    Ok(())
}

/// Notes that a node fetches a content, and tells which ones began before it.
fn fetch(
    agent: &Agent,
    session: &Session,
    name: &str,
    root: [u8; 32],
    holder: &NameHolder,
) -> Result<(), OrderError> {
    holder.check()?;
    is_node(holder)?;
    let record = opened_store(agent)?.find_one(name).map(|entry| entry.record);
    let has_root =
        |record: &NameRecord| record.content().is_some_and(|content| content.root == root);
    // What no name stands for takes no memory.
    if let Some(record) = record.filter(has_root) {
        let holders = agent.fetchers.lock().note(root, holder, clock::now_ns());
        send(session, NamesEvent::Entry(Box::new(NameEntry { record, holders })));
    }
    Ok(())
}

/// Returns an error unless the holder is a node. Others are recorded with the name, by those who
/// publish it.
fn is_node(holder: &NameHolder) -> Result<(), OrderError> {
    if holder.kind == HolderKind::Node {
        return Ok(());
    }
    Err("only a node can say that it holds a content".into())
}

fn opened_store(agent: &Agent) -> Result<&NameStore, OrderError> {
    Ok(agent.names.as_ref().ok_or("it has no state directory for names")?)
}

/// Sends the manifest in a file in pieces. No more than two are in memory: many nodes may ask for
/// it at the same time.
fn send_file(session: &Session, file: File) -> io::Result<()> {
    let mut rest = file.take(NAME_MANIFEST_MAX as u64);
    let mut next = || -> io::Result<Vec<u8>> {
        let mut piece = Vec::new();
        rest.by_ref().take(MANIFEST_PIECE_MAX as u64).read_to_end(&mut piece)?;
        Ok(piece)
    };
    let mut piece = next()?;
    loop {
        let following = next()?;
        let is_last = following.is_empty();
        send(session, NamesEvent::Piece(piece, !is_last));
        if is_last || session.is_over() {
            return Ok(());
        }
        piece = following;
    }
}

/// Sends a manifest in pieces.
fn pieces(session: &Session, manifest: &[u8]) {
    let pieces = manifest.chunks(MANIFEST_PIECE_MAX);
    let last = pieces.len().saturating_sub(1);
    for (number, piece) in pieces.enumerate() {
        send(session, NamesEvent::Piece(piece.to_vec(), number < last));
    }
}

fn send(session: &Session, event: NamesEvent) {
    session.send(&FromAgent::Names(event));
}
