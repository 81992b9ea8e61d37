//! The agent's side of a comparison, which finds the data of a copy that this node already has.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_dataplane::block_index::holding::Holding;
use garland_dataplane::block_index::trees::{Coming, FoundTree, MEMORY, has_some};
use garland_dataplane::block_index::{Existing, Records, Reuse};
use garland_dataplane::budget::Reservation;
use garland_dataplane::store::left::{Left, remove_stale};
use garland_dataplane::store::{Checked, StatusCheck, Surplus, target};
use garland_dataplane::tree::Gathered;
use garland_protocol::FromAgent;
use garland_protocol::copy::{
    BITMAP_MAX, Begin, Compare, CompareBy, CompareOrder, Compared, Destination, End, StatusRule,
    TreeOutline, root_digest,
};
use garland_sys::clock::after;
use garland_sys::sync::Mutex;
use garland_sys::threads;
use garland_sys::{clock, process};
use garland_transport::limits;
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use crate::agent::Agent;
use crate::controller::Controller;
use crate::part_reader::read_part;
use crate::progress::at_intervals;
use crate::session::Session;

/// How long a comparison waits for the partial file that another copy holds. An agent whose head
/// was killed ends its copy [`limits::RESUME`] later.
const HELD_FILE_TIMEOUT: Duration = limits::RESUME.saturating_add(Duration::from_secs(1));

/// The interval at which it looks whether the file is still held.
const HELD_FILE_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The number of bytes that a path takes in a message besides its own, at most.
const PATH_OVERHEAD: usize = 8;

/// Memory for digests per block in bytes: those of the existing file, of the partial file, of the
/// source, and of the part that this node read.
const DIGESTS: u64 = 4 * 33;

/// A comparison that precedes a copy.
pub struct Comparison {
    asked: Compare,
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    found: Option<Found>,
    /// The tree whose catalogue is being received, if any.
    coming: Option<ComingTree>,
    /// The files of the tree that exist at the destination, once they have been read.
    tree: Option<FoundTree>,
    /// The digests of the source's blocks, as far as they were received.
    told: Vec<[u8; 32]>,
    /// The memory of the comparison, released when the copy begins or this value is dropped.
    share: Option<Reservation>,
}

/// A tree whose catalogue is being received, by what is compared.
enum ComingTree {
    Contents(Coming),
    Status(Box<StatusCheck>),
}

impl ComingTree {
    /// Adds a parcel of the catalogue. Returns false if the parcel is refused.
    fn take(&mut self, parcel: Vec<u8>) -> bool {
        match self {
            Self::Contents(coming) => coming.take(&parcel),
            Self::Status(check) => check.take(parcel),
        }
    }
}

/// The data of a copy that exists on this node.
#[derive(Default)]
struct Found {
    /// The existing file at the destination, if there is one.
    old: Option<Existing>,
    /// The partial file of an interrupted copy, if there is one.
    left: Option<(Holding, Left)>,
    /// The part of a shared source that this node has read, so that the head need not read it.
    shared: Option<Holding>,
}

impl Comparison {
    /// Starts a comparison in a separate thread, which reports to the head.
    fn start(controller: &Controller, asked: Compare) -> Arc<Self> {
        let stop = AtomicBool::new(false);
        let comparison = Arc::new(Self { asked, stop, state: Mutex::default() });
        comparison.answer(controller, Self::look);
        comparison
    }

    /// Runs `find` in a separate thread, and sends its result to the head.
    fn answer(self: &Arc<Self>, controller: &Controller, find: fn(&Self, &Controller) -> Compared) {
        let own = Arc::clone(self);
        let work = move |controller: &Controller| {
            let answer = find(&own, controller);
            controller.session.send(&FromAgent::Compared(answer));
        };
        // If no thread can be started, the copy proceeds as if none of its data existed here.
        controller.spawn("compare", work, |_| FromAgent::Compared(Compared::Nothing));
    }

    /// Makes the comparison stop reading, because its result is no longer needed.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Releases the memory of the comparison, before the copy reserves its own. Returns the number
    /// of bytes that the result needs as long as the copy lasts.
    pub fn release(&self) -> usize {
        let mut state = self.state.lock();
        state.share = None;
        let outline = self.asked.tree.as_ref().filter(|_| state.tree.is_some());
        outline.map_or(0, |it| usize::try_from(Gathered::memory(it)).unwrap_or(usize::MAX))
    }

    fn look(&self, controller: &Controller) -> Compared {
        let layout = self.asked.layout;
        let bytes = layout.blocks().saturating_mul(DIGESTS) + u64::from(layout.block_size);
        if let Some(outline) = &self.asked.tree {
            let coming = self.look_for_tree(&controller.agent, outline, bytes);
            return coming.map_or(Compared::Nothing, |()| Compared::Wants);
        }
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // If there is not enough memory, the copy proceeds as if none of its data existed here.
        let share = self.asked.check().ok().and_then(|()| controller.agent.budget.take(bytes).ok());
        let found = share.as_ref().and_then(|_| self.find(controller));
        let Some(found) = found else { return Compared::Nothing };
        let old = found.old.as_ref().map(|old| &old.holding);
        let root = old.and_then(|old| old.digests.root());
        let length = old.map(|old| old.stamp.length);
        let mut state = self.state.lock();
        (state.found, state.share) = (Some(found), share);
        Compared::Found { length, root: root.unwrap_or_default() }
    }

    /// Prepares to receive the catalogue of a tree. Returns `None` if nothing of the tree exists,
    /// or if there is not enough memory.
    fn look_for_tree(&self, agent: &Agent, outline: &TreeOutline, digests: u64) -> Option<()> {
        self.asked.check().ok()?;
        if let CompareBy::Status { rule, named } = self.asked.by {
            return self.look_for_status(agent, outline, rule, named);
        }
        let outline_bytes = Gathered::memory(outline);
        let bytes = usize::try_from(outline_bytes.saturating_add(digests)).ok()?;
        let share = agent.budget.take(bytes).ok().filter(|_| outline_bytes <= MEMORY)?;
        let folder = self.open_destination(agent)?;
        let coming = Coming::new(folder, outline)?;
        let mut state = self.state.lock();
        (state.coming, state.share) = (Some(ComingTree::Contents(coming)), Some(share));
        Some(())
    }

    /// Prepares to receive the catalogue of a tree whose entries are compared by status. Returns
    /// `None` if nothing of the tree exists, or if there is not enough memory.
    fn look_for_status(
        &self,
        agent: &Agent,
        outline: &TreeOutline,
        rule: StatusRule,
        named: bool,
    ) -> Option<()> {
        let share = agent.budget.take(StatusCheck::memory(outline, named)).ok()?;
        let folder = self.open_destination(agent)?;
        if !named && !has_some(&folder, outline) {
            return None;
        }
        let check = StatusCheck::new(folder, outline, rule, named);
        let mut state = self.state.lock();
        (state.coming, state.share) = (Some(ComingTree::Status(Box::new(check))), Some(share));
        Some(())
    }

    /// Opens the directory to which a tree is copied; `None` if it does not exist.
    fn open_destination(&self, agent: &Agent) -> Option<OwnedFd> {
        agent.root.open_dir(Path::new(OsStr::from_bytes(&self.asked.path)), false).ok()
    }

    /// Adds a parcel of the catalogue. After the last parcel, examines the existing files and
    /// reports to the head.
    fn listen(self: &Arc<Self>, controller: &Controller, parcel: Vec<u8>, more: bool) {
        let mut state = self.state.lock();
        if !state.coming.as_mut().is_some_and(|coming| coming.take(parcel)) {
            (state.coming, state.share) = (None, None);
        }
        drop(state);
        if !more {
            self.answer(controller, Self::examine_tree);
        }
    }

    /// Examines the tree whose catalogue is complete.
    fn examine_tree(&self, controller: &Controller) -> Compared {
        // The lock must not be held meanwhile.
        let coming = self.state.lock().coming.take();
        match coming {
            Some(ComingTree::Contents(coming)) => self.read_tree(controller, coming),
            Some(ComingTree::Status(check)) => self.check_status(controller, *check),
            None => Compared::Nothing,
        }
    }

    /// Compares the entries of a tree by status. Reports the unchanged ones to the head; returns
    /// the last part of the report.
    fn check_status(&self, controller: &Controller, check: StatusCheck) -> Compared {
        let session = &controller.session;
        let checked = check.run(progress(session), &self.stop);
        self.state.lock().share = None;
        let Some(Checked { unchanged, surplus }) = checked else { return Compared::Nothing };
        send_surplus(session, surplus);
        if unchanged.is_empty() {
            return Compared::Nothing;
        }
        let bitmap = unchanged.to_bytes();
        let mut pieces = bitmap.chunks(BITMAP_MAX).map(<[u8]>::to_vec);
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            session.send(&FromAgent::Compared(Compared::Unchanged(piece, true)));
        }
        Compared::Unchanged(last, false)
    }

    fn read_tree(&self, controller: &Controller, coming: Coming) -> Compared {
        let Controller { agent, session } = controller;
        let layout = self.asked.layout;
        let disk = agent.disk.as_deref();
        let trusts = match self.asked.by {
            CompareBy::Differing(window) => Some(window),
            CompareBy::Contents | CompareBy::Bytes | CompareBy::Status { .. } => None,
        };
        let found = coming.read(layout, trusts, disk, progress(session), &self.stop);
        let root = found.as_ref().and_then(FoundTree::root).unwrap_or_default();
        let mut state = self.state.lock();
        if found.is_none() {
            state.share = None;
            return Compared::Nothing;
        }
        state.tree = found;
        Compared::Found { length: Some(layout.length), root }
    }

    fn find(&self, controller: &Controller) -> Option<Found> {
        let Controller { agent, session } = controller;
        let Compare { layout, shared, .. } = &self.asked;
        let tell = |said| session.send(&FromAgent::Compared(said));
        let shared = shared.as_ref().and_then(|asked| {
            read_part(agent, *layout, asked, progress(session), tell, &self.stop)
        });
        let found = Found { shared, ..self.at_the_place(agent, session).unwrap_or_default() };
        let is_something = found.old.is_some() || found.left.is_some() || found.shared.is_some();
        is_something.then_some(found)
    }

    /// Examines the existing file and the partial file. Returns `None` if their directory cannot be
    /// opened.
    fn at_the_place(&self, agent: &Agent, session: &Arc<Session>) -> Option<Found> {
        let Compare { path, name, layout, .. } = &self.asked;
        let root = &agent.root;
        let given = Path::new(OsStr::from_bytes(path));
        let (folder_path, name) = target(root, given, OsStr::from_bytes(name));
        let folder = root.open_dir(&folder_path, false).ok()?;
        let tell_progress = progress(session);
        let holding = |file| {
            let disk = agent.disk.as_deref();
            let records = match self.asked.by {
                CompareBy::Bytes => &Records::default(),
                _ => &agent.config.records,
            };
            Holding::with_digests(
                file,
                layout.block_size,
                records,
                disk,
                &tell_progress,
                &self.stop,
            )
        };
        let old = open_own(&folder, &name).ok().and_then(|file| holding(file).ok());
        let left = self.await_left(&folder, &name, &tell_progress).and_then(|left| {
            let file = left.file().try_clone().ok()?;
            Some((holding(file).ok()?, left))
        });
        let path = folder_path.join(&name);
        let old = old.map(|holding| Existing { folder, name, path, holding });
        Some(Found { old, left, shared: None })
    }

    /// Finds and locks the partial file of an interrupted copy. If its agent still waits for a head
    /// that was killed, waits until that agent gives up.
    fn await_left(&self, folder: &OwnedFd, name: &OsStr, progress: impl Fn()) -> Option<Left> {
        let deadline = after(HELD_FILE_TIMEOUT);
        loop {
            // Asked first: it may be released at any moment.
            let is_locked = Left::is_held(folder, name);
            let left = Left::find(folder, name);
            let waits = !clock::until(deadline).is_zero() && !self.stop.load(Ordering::Relaxed);
            if left.is_some() || !waits || !is_locked {
                return left;
            }
            progress();
            threads::sleep(HELD_FILE_CHECK_INTERVAL);
        }
    }

    /// Adds digests of the source's blocks. After the last parcel, returns the number of blocks
    /// that exist on this node; otherwise, or if nothing was found, `None`.
    pub fn take(&self, parcel: Vec<[u8; 32]>, more: bool) -> Option<Compared> {
        let blocks = usize::try_from(self.asked.layout.blocks()).unwrap_or(usize::MAX);
        let mut state = self.state.lock();
        let room = blocks.saturating_sub(state.told.len());
        state.told.extend(parcel.into_iter().take(room));
        if more {
            return None;
        }
        let State { found, told, tree, .. } = &*state;
        if let Some(tree) = tree {
            let has = |(index, digest): &(u64, &[u8; 32])| tree.has(*index, digest);
            let blocks = (0..).zip(told).filter(has).count() as u64;
            return Some(Compared::Has { blocks, left: None });
        }
        let found = found.as_ref()?;
        let mut all = 0;
        let mut of_left = 0;
        for (index, digest) in (0..).zip(told) {
            let left = found.left.as_ref().is_some_and(|(left, _)| left.digests.has(index, digest));
            let own = found.old.as_ref().map(|old| &old.holding);
            let others = own.into_iter().chain(&found.shared);
            let has = left || others.into_iter().any(|other| other.digests.has(index, digest));
            of_left += u64::from(left);
            all += u64::from(has);
        }
        let left = found.left.as_ref().map(|_| of_left);
        Some(Compared::Has { blocks: all, left })
    }

    /// Ends the comparison, and returns the existing data that the copy can reuse; `None` if there
    /// is none, or if another copy or another source was compared.
    pub fn reuse(&self, begin: &Begin) -> Option<Reuse> {
        self.stop();
        let State { found, told, tree, .. } = std::mem::take(&mut *self.state.lock());
        if let Some(tree) = tree {
            return self.reuse_tree(begin, told, tree);
        }
        let Found { old, left, shared } = found?;
        let Compare { path: asked, name: by, layout, .. } = &self.asked;
        let same = matches!(&begin.end, End::Sink(Destination::File { path, name, .. })
            if path == asked && name == by);
        if !same || begin.layout != *layout || begin.stripe.is_some() {
            return None;
        }
        let known = begin.known?;
        let is_whole = |Existing { holding, .. }: &Existing| {
            holding.stamp.length == layout.length && holding.digests.root() == Some(known)
        };
        match old {
            Some(old) if is_whole(&old) => {
                // The partial file is not needed.
                drop(left);
                remove_stale(&old.folder, &old.name);
                let digests = old.holding.digests.all()?;
                Some(Reuse::Whole(old, digests))
            }
            old => {
                let whole = told.len() as u64 == layout.blocks();
                let others = old.map(|old| old.holding).into_iter().chain(shared).collect();
                (whole && root_digest(&told) == known).then_some(Reuse::Some {
                    digests: told,
                    others,
                    left,
                })
            }
        }
    }

    fn reuse_tree(&self, begin: &Begin, told: Vec<[u8; 32]>, tree: FoundTree) -> Option<Reuse> {
        let Compare { path: asked, layout, .. } = &self.asked;
        let same = matches!(&begin.end, End::Sink(Destination::Tree(tree)) if tree.path == *asked);
        let known = begin.known.filter(|_| same && begin.layout == *layout)?;
        let digests = if tree.root() == Some(known) { tree.digests.all()? } else { told };
        let whole = digests.len() as u64 == layout.blocks() && root_digest(&digests) == known;
        whole.then_some(Reuse::Tree { digests, tree })
    }
}

/// Returns a function that reports progress to the head, now and then.
fn progress(session: &Arc<Session>) -> impl Fn() {
    let session = Arc::clone(session);
    at_intervals(move || session.send(&FromAgent::Compared(Compared::Reading)))
}

/// Opens a regular file that is not empty and belongs to the agent's user.
fn open_own(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = openat(folder, name, flags, Mode::empty())?;
    let stat = fstat(&fd)?;
    let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !plain || stat.st_uid != process::user_id() || stat.st_size == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(File::from(fd))
}

/// The last comparison that one controller ordered.
pub struct Comparing {
    controller: Controller,
    last: Option<Arc<Comparison>>,
}

impl Comparing {
    /// Creates the state of a controller that has ordered no comparison yet.
    pub fn new(controller: &Controller) -> Self {
        Self { controller: controller.clone(), last: None }
    }

    /// Begins a comparison in place of the last one, or continues the last one.
    pub fn obey(&mut self, order: CompareOrder) {
        match order {
            CompareOrder::Stat(asked) => {
                let next = Comparison::start(&self.controller, asked);
                self.last.replace(next).iter().for_each(|last| last.stop());
            }
            CompareOrder::Digests(parcel, more) => {
                let answer = self.last.as_ref().and_then(|last| last.take(parcel, more));
                if let Some(answer) = answer {
                    self.controller.session.send(&FromAgent::Compared(answer));
                }
            }
            CompareOrder::Catalogue(parcel, more) => {
                if let Some(last) = &self.last {
                    last.listen(&self.controller, parcel, more);
                }
            }
        }
    }

    /// Returns the last comparison, if there was one.
    pub fn last(&self) -> Option<Arc<Comparison>> {
        self.last.clone()
    }
}

impl Drop for Comparing {
    fn drop(&mut self) {
        self.last.iter().for_each(|last| last.stop());
    }
}

/// Sends the paths of `surplus` to the head, in messages of limited length.
fn send_surplus(session: &Session, surplus: Surplus) {
    let (paths, mut unnamed) = surplus.into_parts();
    let send =
        |paths, unnamed| session.send(&FromAgent::Compared(Compared::Surplus(paths, unnamed)));
    let mut piece = Vec::new();
    let mut bytes = 0;
    for path in paths {
        let takes = path.len() + PATH_OVERHEAD;
        if takes > BITMAP_MAX {
            unnamed += 1;
            continue;
        }
        if bytes + takes > BITMAP_MAX && !piece.is_empty() {
            send(std::mem::take(&mut piece), 0);
            bytes = 0;
        }
        bytes += takes;
        piece.push(path);
    }
    if !piece.is_empty() || unnamed > 0 {
        send(piece, unnamed);
    }
}
