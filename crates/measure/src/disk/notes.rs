//! Notes on the figures of `garland disk`: whether caches were cold, and which layers were between
//! the test and the disk.

use garland_analysis::conditions::{Purpose, beware};
use garland_core::units::bytes;
use garland_protocol::measure::{DiskDirection, DiskMode, DiskPattern, DiskPlace};
use garland_terminal::notes;

use crate::disk::measurement::NodeDisk;
use crate::gather::shared_disks;

/// Returns all notes on `nodes`, whose test files have `size` bytes. A note that applies to several
/// nodes appears once.
pub fn of(nodes: &[NodeDisk], size: u64, one_by_one: bool) -> Vec<String> {
    let all = nodes.iter().filter_map(|node| Some((node, node.place.as_ref()?)));
    let all = all.flat_map(|(node, place)| {
        let cut = short_file(node, size);
        let spoilt = beware(&place.conditions, Purpose::Rates);
        let notes = proof(node).into_iter().chain(cut).chain(place_notes(place, size));
        notes.chain(spoilt).map(|note| (node.name.as_str(), note))
    });
    let mut notes = notes::folded(all);
    if !one_by_one {
        notes.extend(shared(nodes));
    }
    notes
}

/// Returns a note on whether reads through the page cache came from the disk; none if there were no
/// such reads.
fn proof(node: &NodeDisk) -> Option<String> {
    let read = node.find(DiskDirection::Read, DiskPattern::Sequential, DiskMode::Buffered)?;
    let Some(before) = read.before else {
        return Some("cold cache not proven: the kernel does not report what is cached".to_owned());
    };
    let way = if before.by_cachestat { "cachestat" } else { "mincore" };
    let pages = before.pages;
    let cached = before.cached;
    Some(match cached {
        0 => format!("cold cache proven: 0 of {pages} pages in memory before the read ({way})"),
        _ => format!(
            "cache not cold: {cached} of {pages} pages in memory before the read ({way}), so cached \
             reads came from memory in part"
        ),
    })
}

/// Returns a note if the time limit ended the test before the whole file was written.
fn short_file(node: &NodeDisk, size: u64) -> Option<String> {
    let first = node.find(DiskDirection::Write, DiskPattern::Sequential, DiskMode::Buffered)?;
    let whole = size >> 20 << 20;
    (first.bytes < whole).then(|| {
        format!(
            "only the first {} of the file were written within the time limit, and only these were \
             measured; use a longer --time",
            bytes::format(first.bytes)
        )
    })
}

fn place_notes(place: &DiskPlace, size: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if place.in_memory {
        notes.push(format!("{} is in memory: no disk was measured", place.system));
    } else if size < place.memory {
        notes.push(format!(
            "the file of {} fits in memory ({}): rates of writes without fsync are not those of the disk; \
             rates of reads are, since the cache was cold",
            bytes::format(size),
            bytes::format(place.memory)
        ));
    }
    if !place.no_direct.is_empty() {
        let system = &place.system;
        let reason = &place.no_direct;
        notes.push(format!("no direct I/O on {system} ({reason}): only cached figures"));
    }
    if !place.no_uring.is_empty() {
        let reason = &place.no_uring;
        notes.push(format!("io_uring is not available ({reason}): threads did direct I/O"));
    }
    if place.device.starts_with("loop") {
        let device = &place.device;
        notes.push(format!(
            "{device} is a loop device: the file system below it has a cache of its own"
        ));
    }
    if place.guest && !place.in_memory {
        notes.push(
            "a virtual machine: the cache of its host cannot be inspected or emptied from inside"
                .to_owned(),
        );
    }
    notes
}

/// Returns a note for each disk that several nodes shared.
fn shared(nodes: &[NodeDisk]) -> Vec<String> {
    let places = nodes.iter().map(|node| (node.name.as_str(), node.place.as_ref()));
    let line = |(device, names)| {
        format!(
            "{names}: all on {device} of one machine, and measured at the same time; use --one-by-one to \
             measure one after the other"
        )
    };
    shared_disks(places).into_iter().map(line).collect()
}
