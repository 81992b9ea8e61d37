//! Nodes that fetch the same content at the same time follow each other: each reads from one that
//! began before it, which has what it has fetched so far. So the origin, or a holder, is read once
//! for all of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use garland_copy::place::Target;
use garland_core::cluster::Node;
use garland_protocol::names::{HolderKind, LEASE_NS, NameEntry, NameHolder, NameManifest};
use garland_sys::channel::{RecvTimeoutError, Sender, channel};
use garland_sys::signal::Interrupts;
use garland_sys::{clock, threads};
use garland_terminal::failure::Failure;

use crate::access::Access;
use crate::content::{Holder, Relation};
use crate::keepers::{self, Keepers};

/// The number of holders that are asked whether they still have a content: as many as are read at a
/// time.
const LOOKED_AT: usize = 8;

/// The time in which keepers must answer.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);

/// A fetch that the keepers know of, until this is dropped.
pub struct Fetching {
    before: Vec<NameHolder>,
    /// Ends the thread that renews the lease when it is dropped.
    _renewing: Sender<()>,
}

impl Fetching {
    /// Tells the keepers that this node fetches a content to `target`, and that it goes on while
    /// this lives. `None` if this machine is no member of the cluster, or its agent could not give
    /// others what it has.
    pub fn begin(
        access: &Arc<Access>,
        entry: &NameEntry,
        manifest: &NameManifest,
        target: &Target,
        interrupts: &Arc<Interrupts>,
    ) -> Result<Option<Self>, Failure> {
        let Some((node, root)) = access.member() else { return Ok(None) };
        let Some(path) = below(root, place(&target.path, manifest).as_os_str().as_bytes()) else {
            return Ok(None);
        };
        let own = NameHolder { node: node.to_owned(), kind: HolderKind::Node, path };
        // Others read what has arrived here by the agent of this node. If it cannot serve them,
        // they read from others.
        let serving = [own.clone()];
        let (encoded, _) = manifest.encode().map_err(Failure::nothing)?;
        let _ = keepers::register(access, entry, &encoded, &serving, interrupts);
        let before = Keepers::open(access, interrupts)?.fetch(entry, &own)?;
        let (renewing, ended) = channel();
        let access = Arc::clone(access);
        let interrupts = Arc::clone(interrupts);
        let entry = entry.clone();
        let renew = move || {
            let patience = access.patience().for_background();
            let pause = Duration::from_nanos(LEASE_NS / 3);
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                patience.begin_again();
                let keepers = Keepers::open_in_background(&access, &patience, &interrupts);
                // It is tried again: others take this node for gone only when its lease is over.
                let _ = keepers.and_then(|mut keepers| keepers.fetch(&entry, &own));
            }
        };
        // Without the thread, others stop following this node after a while.
        let _ = threads::spawn("lease", renew);
        Ok(Some(Self { before, _renewing: renewing }))
    }

    /// Returns the nodes that began before this one, in order.
    pub fn before(&self) -> &[NameHolder] {
        &self.before
    }
}

/// Returns where the content is going to lie.
fn place(path: &[u8], manifest: &NameManifest) -> PathBuf {
    let given = Path::new(OsStr::from_bytes(path));
    let base = OsStr::from_bytes(&manifest.base);
    let is_folder = manifest.is_tree || path.ends_with(b"/") || given.is_dir();
    let place = if is_folder { given.join(base) } else { given.to_owned() };
    let folder = place.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, place.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => place,
    }
}

/// Returns the part of `path`, which lies below `/`, that lies below `root`; `None` if it is
/// elsewhere.
pub fn below(root: &[u8], path: &[u8]) -> Option<Vec<u8>> {
    let root = Path::new(OsStr::from_bytes(root));
    let path = Path::new(OsStr::from_bytes(path));
    let below = Path::new("/").join(path);
    Some(below.strip_prefix(root).ok()?.as_os_str().as_bytes().to_vec())
}

/// Returns the holders of a content for a copy to `members`, of which `before` began to fetch
/// before this one, with what this copy does with each.
pub fn find_holders(
    access: &Access,
    entry: &NameEntry,
    manifest: &NameManifest,
    members: &[Node],
    before: &[NameHolder],
    interrupts: &Arc<Interrupts>,
) -> Vec<Holder> {
    let is_member = |holder: &NameHolder| members.iter().any(|node| node.name == holder.node);
    // What this node has itself is compared with the content anyway.
    let is_own = |holder: &&NameHolder| access.member().is_some() && is_member(holder);
    let is_near = |it: &NameHolder| access.is_near(&it.node);
    let holder = |(record, relation): (&NameHolder, Relation)| {
        let root = entry.record.content().map_or([0; 32], |content| content.root);
        Holder::new(record.clone(), root, access.reach(&record.node), relation, interrupts)
    };
    let whole = entry.places().filter(|it| !is_own(it));
    let whole = whole.map(|it| match (is_member(it), is_near(it)) {
        (true, _) => (it, Relation::Member),
        (false, true) => (it, Relation::Near),
        (false, false) => (it, Relation::Whole),
    });
    let mut whole: Vec<Holder> = whole.map(holder).collect();
    if !before.is_empty() && !manifest.files.is_empty() {
        whole = seen(whole);
    }
    let lines = whole.iter().filter(|it| it.is_node() && it.relation() != Relation::Unseen);
    let lines: Vec<bool> = lines.map(|it| it.relation() == Relation::Near).collect();
    let order = followed(&before.iter().map(is_near).collect::<Vec<_>>(), &lines);
    let before = before.iter().enumerate().filter(|(_, it)| !is_own(it)).map(|(at, it)| {
        (it, if Some(at) == order { Relation::Followed } else { Relation::Arriving })
    });
    before.map(holder).chain(whole).collect()
}

/// Asks some of the nodes that had the content, near ones first, whether they still have it. What
/// nodes had may be removed since: nobody would follow the one that reads for all others. Nodes
/// that do not say that they have it come last before the origin.
fn seen(mut holders: Vec<Holder>) -> Vec<Holder> {
    holders.sort_by_key(Holder::rank);
    let (tell, told) = channel();
    for (at, holder) in holders.iter().enumerate().filter(|(_, it)| it.is_node()).take(LOOKED_AT) {
        let tell = tell.clone();
        holder.look(move |has| {
            // It fails if the answer comes too late.
            let _ = tell.send((at, has));
        });
    }
    drop(tell);
    let until_ns = clock::after(ANSWER_TIMEOUT);
    let mut present = vec![false; holders.len()];
    while let Ok((at, has)) = told.recv_timeout(clock::until(until_ns)) {
        present[at] = has;
    }
    let seen = holders.into_iter().zip(present).map(|(holder, is_present)| {
        let is_sure = is_present || !holder.is_node();
        if is_sure { holder } else { holder.with_relation(Relation::Unseen) }
    });
    seen.collect()
}

/// Returns which of the nodes that began earlier this one follows. `before` has one flag for each
/// of them, and `whole` one for each node that has the content already: whether it is near. As many
/// nodes as there are holders read from these; each later one follows the one that began as many
/// places before it. Those that are near count alone if there are any, so that each rack has its
/// own lines, and only the first one in a rack looks beyond it.
fn followed(before: &[bool], whole: &[bool]) -> Option<usize> {
    let is_first = !before.iter().chain(whole).any(|near| *near);
    let counts = |near: &&bool| is_first || **near;
    let lines = whole.iter().filter(counts).count().max(1);
    let mut back = (0..before.len()).rev().filter(|&at| counts(&&before[at]));
    back.nth(lines - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_follow_each_other_in_as_many_lines_as_there_are_holders() {
        for is_near in [false, true] {
            let follow = |before, whole| followed(&vec![is_near; before], &vec![is_near; whole]);
            let later = [None, Some(0), Some(1), Some(2)];
            assert_eq!([0, 1, 2, 3].map(|before| follow(before, 0)), later);
            assert_eq!([0, 1, 2, 3].map(|before| follow(before, 1)), later);
            assert_eq!([1, 2, 3, 4].map(|before| follow(before, 2)), later);
        }
    }

    #[test]
    fn only_the_first_node_of_a_rack_follows_one_of_another() {
        let near = true;
        let far = false;
        assert_eq!(followed(&[far, far], &[]), Some(1));
        assert_eq!(followed(&[far, near, far], &[far]), Some(1));
        assert_eq!(followed(&[far, far], &[near]), None, "its rack has the content");
        assert_eq!(followed(&[far, near, near, far], &[near, near, far]), Some(1));
    }

    #[test]
    fn a_node_tells_of_what_its_agent_can_read() {
        assert_eq!(below(b"/", b"data/x"), Some(b"data/x".to_vec()));
        assert_eq!(below(b"/srv/a", b"/srv/a/x"), Some(b"x".to_vec()));
        assert_eq!(below(b"/srv/a", b"/srv/b/x"), None);
    }
}
