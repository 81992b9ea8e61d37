//! The content of a name as the source of a copy: blocks come from several holders at once, in
//! threads, and each is verified by the manifest.

pub mod apart;
mod holder;
mod limits;
mod window;

use std::sync::Arc;

use garland_core::plan::Layout;
use garland_dataplane::source::{Content, FeedError, RemoteFile};
use garland_dataplane::tree::{ObjectFile, Objects, Unread};
use garland_protocol::names::{NAMED_MODE, NameManifest, NamedFile};
use garland_sys::signal::Interrupts;
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::{clock, random, threads};
use garland_terminal::failure::{Failure, OrFailure};

pub use self::holder::{Holder, HolderFault, Relation};
use self::limits::{BLOCK_MAX, CHECK_INTERVAL};
pub use self::window::HolderState;
use self::window::Window;

/// The number of blocks that are in flight from each holder.
const IN_FLIGHT: usize = 4;

/// The number of holders that are read from at a time. Others take the place of those that fail.
const ACTIVE: usize = 8;

/// How many times in a row a block may not have arrived at a holder, each time after some seconds,
/// before that is left alone.
const LATE: u32 = 3;

/// The content of a name.
pub struct NamedSource(Arc<Shared>);

struct Shared {
    name: String,
    manifest: NameManifest,
    /// For each file, the number of its first block in all files.
    first: Vec<u64>,
    holders: Vec<Holder>,
    window: Mutex<Window>,
    /// Wakes the threads that fetch: a block is wanted, or nothing is any more.
    wanted: Condvar,
    /// Wakes readers: a block has come, or a holder has failed.
    came: Condvar,
    active: Mutex<usize>,
    interrupts: Arc<Interrupts>,
}

impl NamedSource {
    /// Starts the threads that read from those of `holders` with the lowest rank; the others
    /// replace them when they fail.
    pub fn open(
        name: &str,
        manifest: NameManifest,
        mut holders: Vec<Holder>,
        interrupts: &Arc<Interrupts>,
    ) -> Result<Self, Failure> {
        // Equal ones in any order, so that copies of the same name don't all read from the same
        // nodes.
        holders.sort_by_cached_key(|holder| (holder.rank(), random::bytes::<8>()));
        let best = holders.iter().map(Holder::rank).min();
        let near = holders.iter().filter(|holder| Some(holder.rank()) == best).count();
        let mut first = Vec::new();
        let mut lengths = Vec::new();
        for file in &manifest.files {
            first.push(lengths.len() as u64);
            lengths.extend((0..file.layout.blocks()).map(|it| file.layout.block_length(it)));
        }
        let window = Mutex::new(Window::new(lengths.into(), holders.len()));
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            manifest,
            first,
            holders,
            window,
            wanted: Condvar::new(),
            came: Condvar::new(),
            active: Mutex::new(0),
            interrupts: Arc::clone(interrupts),
        });
        for _ in 0..near.clamp(1, ACTIVE) {
            Shared::activate(&shared).or_nothing("cannot read from holders")?;
        }
        Ok(Self(shared))
    }

    /// Returns the files of a directory.
    pub fn files(&self) -> impl Iterator<Item = ObjectFile<'_>> + Clone {
        self.0.manifest.files.iter().map(|file| ObjectFile {
            path: &file.path,
            is_readable: true,
            length: file.layout.length,
            mode: file.mode & NAMED_MODE,
            modified: file.modified,
        })
    }

    /// Returns each holder, and what it has given.
    pub fn holders(&self) -> Vec<(&Holder, HolderState)> {
        let states = self.0.window.lock().holders().to_vec();
        self.0.holders.iter().zip(states).collect()
    }

    /// Fills `bytes` with the contents of the file `number` from `offset` on.
    fn fill(&self, number: usize, mut offset: u64, mut bytes: &mut [u8]) -> Result<(), FeedError> {
        let shared = &self.0;
        let size = u64::from(shared.manifest.files[number].layout.block_size);
        while !bytes.is_empty() {
            let block = shared.first[number] + offset / size;
            let within = (offset % size) as usize;
            let came = Shared::block(shared, block, &|| false)?;
            let length = bytes.len().min(came.len().saturating_sub(within));
            if length == 0 {
                return Err(FeedError::Broken(format!("{} ends early", shared.name)));
            }
            let (now, rest) = bytes.split_at_mut(length);
            now.copy_from_slice(&came[within..within + length]);
            shared.window.lock().give(block, length);
            offset += length as u64;
            bytes = rest;
        }
        Ok(())
    }

    fn file(&self) -> &NamedFile {
        // A manifest without a directory has one file.
        &self.0.manifest.files[0]
    }
}

impl Drop for NamedSource {
    /// Ends the reading threads after their current block. They are not joined.
    fn drop(&mut self) {
        let mut window = self.0.window.lock();
        for holder in 0..self.0.holders.len() {
            window.failed(holder, HolderFault::Unread("it is no longer needed".to_owned()));
        }
        drop(window);
        self.0.wanted.notify_all();
        self.0.came.notify_all();
    }
}

impl Shared {
    /// Starts to read from the next holder, if there is one.
    fn activate(shared: &Arc<Self>) -> std::io::Result<()> {
        let mut active = shared.active.lock();
        let holder = *active;
        if holder >= shared.holders.len() {
            return Ok(());
        }
        *active += 1;
        drop(active);
        for _ in 0..IN_FLIGHT {
            let shared = Arc::clone(shared);
            threads::spawn("holder", move || Self::work(&shared, holder))?;
        }
        Ok(())
    }

    /// Fetches blocks from a holder until it fails or nothing more is needed.
    fn work(shared: &Arc<Self>, holder: usize) {
        let mut late = 0;
        while let Some(block) = shared.claim(holder) {
            let number = shared.first.partition_point(|first| *first <= block) - 1;
            let file = &shared.manifest.files[number];
            let index = block - shared.first[number];
            let read = shared.holders[holder].read(number, file, index);
            late = if read == Err(HolderFault::Later) { late + 1 } else { 0 };
            let mut window = shared.window.lock();
            window.answered(holder);
            let is_first = window.holders()[holder].fault.is_none();
            let is_unfetched = read.is_err();
            let failed = is_unfetched && (late == 0 || late >= LATE);
            match read {
                Ok(bytes) => window.fetched(holder, block, bytes),
                Err(HolderFault::Later) if late < LATE => window.later(holder, block),
                Err(HolderFault::Later) => {
                    let why = "nothing more arrived there".to_owned();
                    window.failed(holder, HolderFault::Unread(why));
                }
                Err(fault) => window.failed(holder, fault),
            }
            drop(window);
            shared.came.notify_all();
            if is_unfetched {
                shared.wanted.notify_all();
            }
            if failed && is_first {
                // Without a thread the holders that are left do the work.
                let _ = Self::activate(shared);
            }
        }
    }

    fn claim(&self, holder: usize) -> Option<u64> {
        let mut window = self.window.lock();
        loop {
            if window.holders()[holder].fault.is_some() {
                return None;
            }
            if let Some(block) = window.next(holder, clock::now_ns()) {
                return Some(block);
            }
            self.wanted.wait_for(&mut window, CHECK_INTERVAL);
        }
    }

    /// Starts to read from the holders of the next rank if `helps` is true of them, because those
    /// of the ranks before are silent or slow. They are not left alone: what they fetch may come
    /// slowly to them.
    fn activate_rank(shared: &Arc<Self>, helps: impl Fn(&Holder) -> bool) {
        let rest = &shared.holders[*shared.active.lock()..];
        let first = rest.first().filter(|holder| holder.is_readable() && helps(holder));
        let Some(first) = first else { return };
        let count = rest.iter().take_while(|holder| holder.rank() == first.rank()).count();
        for _ in 0..count.min(ACTIVE) {
            // Without a thread the holders that are read from do the work.
            let _ = Self::activate(shared);
        }
    }

    /// Leaves holders alone that answer nothing, and adds others for them.
    fn leave(shared: &Arc<Self>, silent: &[usize]) {
        let mut window = shared.window.lock();
        for holder in silent {
            let seconds = shared.holders[*holder].patience().as_secs();
            let why = format!("nothing came from it within {seconds} s");
            window.failed(*holder, HolderFault::Unread(why));
        }
        drop(window);
        shared.came.notify_all();
        shared.wanted.notify_all();
        for _ in silent {
            // Without a thread the holders that are left do the work.
            let _ = Self::activate(shared);
        }
    }

    /// Waits until a block is here, and returns it.
    fn block(
        shared: &Arc<Self>,
        number: u64,
        stale: &dyn Fn() -> bool,
    ) -> Result<Arc<Vec<u8>>, FeedError> {
        let patience = |holder: usize| shared.holders[holder].patience().as_nanos() as u64;
        let mut window = shared.window.lock();
        let began_ns = window.waited_ns();
        loop {
            let here = window.want(number);
            if window.is_queued() {
                shared.wanted.notify_all();
            }
            if let Some(bytes) = here {
                return Ok(bytes);
            }
            if window.is_lost() {
                let why = format!("no holder of {} is left", shared.name);
                return Err(FeedError::Broken(shared.told(&why, window.holders())));
            }
            if stale() || shared.interrupts.have_come() {
                return Err(FeedError::NotYet);
            }
            if u128::from(window.waited_ns() - began_ns) >= BLOCK_MAX.as_nanos() {
                let name = &shared.name;
                let seconds = BLOCK_MAX.as_secs();
                let why = format!("no holder of {name} gave block {number} within {seconds} s");
                return Err(FeedError::Broken(shared.told(&why, window.holders())));
            }
            let silence = window.look(clock::now_ns(), patience);
            if !silence.silent.is_empty() {
                drop(window);
                Self::leave(shared, &silence.silent);
                window = shared.window.lock();
                continue;
            }
            if silence.is_quiet || silence.waited_rate.is_some() {
                drop(window);
                let rate = silence.waited_rate.unwrap_or(0);
                Self::activate_rank(shared, |holder| holder.helps_at(rate));
                window = shared.window.lock();
                continue;
            }
            shared.came.wait_for(&mut window, CHECK_INTERVAL);
        }
    }

    /// Returns why a block cannot be had: `why`, and what is known of each holder.
    fn told(&self, why: &str, states: &[HolderState]) -> String {
        let reason = |(holder, state): (&Holder, &HolderState)| {
            let (HolderFault::Unread(reason) | HolderFault::Differs(reason)) =
                state.fault.as_ref()?
            else {
                return None;
            };
            Some(format!("{}: {reason}", holder.record.node))
        };
        let reasons: Vec<String> = self.holders.iter().zip(states).filter_map(reason).collect();
        if reasons.is_empty() { why.to_owned() } else { format!("{why}: {}", reasons.join("; ")) }
    }
}

impl Content for NamedSource {
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        self.fill(0, layout.offset(index), bytes)
    }

    fn await_block(
        &self,
        layout: Layout,
        index: u64,
        stale: &dyn Fn() -> bool,
    ) -> Result<u32, FeedError> {
        let own = self.file().layout;
        let length = layout.block_length(index);
        let begin = layout.offset(index);
        let size = u64::from(own.block_size);
        for block in begin / size..(begin + u64::from(length)).div_ceil(size) {
            Shared::block(&self.0, block, stale)?;
        }
        Ok(length)
    }

    fn verified(&self, layout: Layout, index: u64) -> Option<[u8; 32]> {
        RemoteFile::digests(self, layout)?.get(index as usize).copied()
    }

    fn length(&self) -> u64 {
        self.file().layout.length
    }

    fn name(&self) -> String {
        self.0.name.clone()
    }

    /// Always true: each block is verified by the manifest.
    fn is_unchanged(&self) -> bool {
        true
    }

    fn device(&self) -> Option<u64> {
        None
    }
}

impl RemoteFile for NamedSource {
    fn file_name(&self) -> Option<Vec<u8>> {
        Some(self.0.manifest.base.clone())
    }

    fn mode(&self) -> u32 {
        self.file().mode & NAMED_MODE
    }

    fn modified(&self) -> Option<(i64, u32)> {
        Some(self.file().modified)
    }

    fn digests(&self, layout: Layout) -> Option<&[[u8; 32]]> {
        let file = self.file();
        (file.layout == layout).then_some(&file.digests)
    }
}

impl Objects for NamedSource {
    fn begin(&self, order: &mut dyn FnMut() -> Vec<u32>) {
        let blocks = |number: u32| {
            let first = self.0.first[number as usize];
            first..first + self.0.manifest.files[number as usize].layout.blocks()
        };
        self.0.window.lock().need(|| order().into_iter().map(blocks));
    }

    fn read(&self, number: u32, offset: u64, bytes: &mut [u8]) -> Result<(), Unread> {
        self.fill(number as usize, offset, bytes).map_err(|error| Unread::Store(error.to_string()))
    }
}
