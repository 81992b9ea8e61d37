//! What must be known to read the figures of `garland disk`: how cold the caches were, and what may
//! have stood between the test and the disk.

use std::collections::BTreeMap;

use garland_analysis::conditions::{Purpose, beware};
use garland_core::cluster::nodelist;
use garland_core::units::bytes;
use garland_protocol::{DiskDirection, DiskMode, DiskPattern, DiskPlace};

use crate::disk::measurement::NodeDisk;
use garland_terminal::notes;

/// All notes on `nodes`, whose files had `size` bytes; equal ones of several nodes are one.
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

/// That cached reads were of the disk.
fn proof(node: &NodeDisk) -> Option<String> {
    let read = node.find(DiskDirection::Read, DiskPattern::Sequential, DiskMode::Buffered)?;
    let Some(before) = read.before else {
        return Some("cold cache not proven: the kernel doesn't tell what is cached".to_owned());
    };
    let way = if before.by_cachestat { "cachestat" } else { "mincore" };
    let (pages, cached) = (before.pages, before.cached);
    Some(match cached {
        0 => format!("cold cache proven: 0 of {pages} pages in memory before the read ({way})"),
        _ => format!(
            "cache not cold: {cached} of {pages} pages in memory before the read ({way}), so that \
             cached reads are of memory in part"
        ),
    })
}

/// That the time was over before the file was written.
fn short_file(node: &NodeDisk, size: u64) -> Option<String> {
    let first = node.find(DiskDirection::Write, DiskPattern::Sequential, DiskMode::Buffered)?;
    let whole = size >> 20 << 20;
    (first.bytes < whole).then(|| {
        format!(
            "all is of the first {} of its file, which were written in the time; give more --time",
            bytes::format(first.bytes)
        )
    })
}

fn place_notes(place: &DiskPlace, size: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if place.in_memory {
        notes.push(format!("{} is memory: these figures say nothing of a disk", place.system));
    } else if size < place.memory {
        notes.push(format!(
            "the file of {} fits in memory ({}): what is written without fsync says nothing of the \
             disk; reads hold, for they began cold",
            bytes::format(size),
            bytes::format(place.memory)
        ));
    }
    if !place.no_direct.is_empty() {
        let (system, reason) = (&place.system, &place.no_direct);
        notes.push(format!("no direct I/O on {system} ({reason}): only cached figures"));
    }
    if !place.no_uring.is_empty() {
        let reason = &place.no_uring;
        notes.push(format!("no io_uring ({reason}): threads did direct I/O"));
    }
    if place.device.starts_with("loop") {
        let device = &place.device;
        notes.push(format!(
            "{device} is a file that plays a disk: what is below it has its own cache"
        ));
    }
    if place.guest && !place.in_memory {
        notes.push(
            "a virtual machine: what its host caches can't be seen or emptied from inside"
                .to_owned(),
        );
    }
    notes
}

/// Nodes that measured each other.
fn shared(nodes: &[NodeDisk]) -> Vec<String> {
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for node in nodes {
        if let Some(place) = node.place.as_ref().filter(|place| !place.device.is_empty()) {
            groups.entry((&place.machine, &place.device)).or_default().push(&node.name);
        }
    }
    let shared = groups.into_iter().filter(|(_, names)| names.len() > 1);
    shared
        .map(|((_, device), names)| {
            format!(
                "{}: all on {device} of one machine, each had a part of it; --one-by-one gives each \
                 all of it",
                nodelist::fold(&names)
            )
        })
        .collect()
}
