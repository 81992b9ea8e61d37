//! Judges the examination of a node.

use garland_analysis::conditions::{Purpose, beware};
use garland_core::printable;
use garland_core::units::bytes;
use garland_protocol::copy::{Examination, PlaceFacts};

/// The memory of an agent at most.
const AGENT_MEMORY: u64 = 64 << 20;

/// The free space below which a warning is given.
const LITTLE_SPACE: u64 = 1 << 30;

/// The number of open files that a node of any copy can do with.
const OPEN_FILES: u64 = 256;

/// File systems that several nodes may have in common.
const SHARED: [&str; 8] = ["nfs", "lustre", "ceph", "gpfs", "beegfs", "smb", "cifs", "fuse"];

/// File systems that exist only in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Returns what may disturb a copy to a node, and what to do about it. The texts do not contain the
/// node's name.
pub fn warnings(examination: &Examination) -> Vec<String> {
    let mut all = Vec::new();
    if let Ok(place) = &examination.place {
        all.extend(of_place(place));
    }
    if examination.memory_free < AGENT_MEMORY {
        let free = bytes::format(examination.memory_free);
        all.push(format!(
            "only {free} of memory are free, and an agent takes up to 64 MiB: end other programs"
        ));
    }
    if examination.open_files < OPEN_FILES {
        let count = examination.open_files;
        all.push(format!("a process may open only {count} files: raise `ulimit -n`"));
    }
    all.extend(beware(&examination.conditions, Purpose::Rates));
    all
}

fn of_place(place: &PlaceFacts) -> Vec<String> {
    let mut all = Vec::new();
    let path = printable::name(&place.path);
    let system = place.file_system.as_str();
    if place.free < LITTLE_SPACE {
        let free = bytes::format(place.free);
        all.push(format!(
            "only {free} are free in {path}: a copy needs the length of what it brings"
        ));
    }
    if SHARED.contains(&system) {
        all.push(format!(
            "{path} is on {system}, which other nodes may share: then copy to one of them only"
        ));
    }
    if IN_MEMORY.contains(&system) {
        all.push(format!(
            "{path} is in memory ({system}): what is copied there takes the node's memory"
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> Examination {
        let path = b"/scratch".to_vec();
        let file_system = "ext4".to_owned();
        Examination {
            kernel: "6.1.0".to_owned(),
            cores: 2,
            memory_free: 1 << 30,
            open_files: 1024,
            conditions: Vec::new(),
            place: Ok(PlaceFacts { path, free: 1 << 40, file_system }),
        }
    }

    fn place(free: u64, system: &str) -> Examination {
        let path = b"/scratch".to_vec();
        let file_system = system.to_owned();
        Examination { place: Ok(PlaceFacts { path, free, file_system }), ..healthy() }
    }

    #[test]
    fn what_disturbs_a_copy_is_named_with_what_to_do() {
        assert!(warnings(&healthy()).is_empty());
        let slow = vec![("governor".to_owned(), "powersave".to_owned())];
        let cases = [
            (place(5 << 20, "xfs"), "only 5.00 MiB are free in /scratch: "),
            (place(1 << 40, "nfs"), "/scratch is on nfs, which other nodes may share: then copy"),
            (place(1 << 40, "tmpfs"), "/scratch is in memory (tmpfs): "),
            (Examination { memory_free: 1 << 20, ..healthy() }, "only 1.00 MiB of memory are free"),
            (Examination { open_files: 100, ..healthy() }, "a process may open only 100 files: "),
            (Examination { conditions: slow, ..healthy() }, "its CPU governor is powersave"),
        ];
        for (examination, wanted) in cases {
            let found = warnings(&examination);
            assert!(found.len() == 1 && found[0].starts_with(wanted), "{found:?}");
        }
        // A directory that cannot be written to is a fault, not a warning.
        let refused = Examination { place: Err("read-only".to_owned()), ..healthy() };
        assert!(warnings(&refused).is_empty());
    }
}
