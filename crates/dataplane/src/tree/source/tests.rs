//! Tests of trees as sources.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::UNIX_EPOCH;

use garland_sys::confine::Root;

use super::*;
use crate::tests::Scratch;

/// Opens the content of a directory as a tree.
fn tree_of(folder: PathBuf) -> TreeSource {
    let options = ScanOptions {
        excludes: Vec::new(),
        attributes: false,
        sweep: false,
        one_file_system: false,
        root: &Root::Free,
        stop: &|| false,
    };
    TreeSource::open(&[folder], &options).unwrap()
}

fn read_blocks(tree: &TreeSource, layout: Layout, indexes: std::ops::Range<u64>) {
    for index in indexes {
        let mut block = vec![0; layout.block_length(index) as usize];
        tree.read(layout, index, &mut block).unwrap();
    }
}

/// Makes a change until the file has another ctime: within a tick of the kernel's clock it has
/// the same.
fn change_stamp(path: &Path, change: &dyn Fn(&Path)) {
    let stamp = || Stamp::from_stat(&rustix::fs::stat(path).unwrap());
    let before = stamp();
    while stamp() == before {
        change(path);
    }
}

/// Changes of a file that change no byte of it.
const HARMLESS: [fn(&Path); 4] = [
    |path| fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap(),
    |path| File::open(path).unwrap().set_modified(UNIX_EPOCH).unwrap(),
    |path| {
        let other = path.with_extension("other");
        fs::rename(path, &other).unwrap();
        fs::rename(&other, path).unwrap();
    },
    |path| {
        let other = path.with_extension("other");
        fs::hard_link(path, &other).unwrap();
        fs::remove_file(&other).unwrap();
    },
];

/// Changes the first byte, and sets the modification time back.
fn change_byte(path: &Path) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(b"?", 0).unwrap();
    file.set_modified(modified).unwrap();
}

#[test]
fn a_file_whose_bytes_stay_is_unchanged_whatever_else_happens_to_it() {
    const BLOCK: u32 = 1 << 12;
    let changes = HARMLESS.into_iter().map(|change| (change, 0));
    for (change, missed) in changes.chain([(change_byte as fn(&Path), 1)]) {
        let dir = Scratch::new("tree-touched");
        let path = dir.join("from/f");
        fs::create_dir(dir.join("from")).unwrap();
        fs::write(&path, vec![7; 9 * BLOCK as usize]).unwrap();
        let tree = tree_of(dir.join("from/"));
        let layout = Layout { length: tree.length(), block_size: BLOCK, open: false };
        read_blocks(&tree, layout, 0..4);
        change_stamp(&path, &change);
        read_blocks(&tree, layout, 4..layout.blocks());
        assert_eq!(tree.left_out().len(), missed, "{:?}", tree.left_out());
    }
}

#[test]
fn a_large_file_that_is_touched_holds_up_no_reader() {
    const BLOCK: u32 = 1 << 20;
    let dir = Scratch::new("tree-touched-large");
    let path = dir.join("from/f");
    fs::create_dir(dir.join("from")).unwrap();
    File::create_new(&path).unwrap().set_len(REREAD_MAX + 1).unwrap();
    let tree = tree_of(dir.join("from/"));
    let layout = Layout { length: tree.length(), block_size: BLOCK, open: false };
    read_blocks(&tree, layout, 0..4);
    change_stamp(&path, &HARMLESS[0]);
    read_blocks(&tree, layout, 4..layout.blocks());
    assert_eq!(tree.left_out().len(), 1, "it is not read again");
}

#[test]
fn samples_in_other_blocks_change_nothing_of_what_the_copy_reads() {
    let dir = Scratch::new("tree-sampled");
    fs::create_dir(dir.join("from")).unwrap();
    let bytes: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
    ["a", "b"].iter().for_each(|name| fs::write(dir.join("from").join(name), &bytes).unwrap());
    let blocks = |tree: &TreeSource, block_size| {
        let layout = Layout { length: tree.length(), block_size, open: false };
        // The last one comes first, so that those before it are read early.
        let indexes = [layout.blocks() - 1].into_iter().chain(0..layout.blocks() - 1);
        let block = |index| {
            let mut block = vec![0; layout.block_length(index) as usize];
            tree.read(layout, index, &mut block).unwrap();
            block
        };
        indexes.map(block).collect::<Vec<_>>()
    };
    let wanted = blocks(&tree_of(dir.join("from/")), 1 << 14);
    let tree = tree_of(dir.join("from/"));
    let sampled = Layout { length: tree.length(), block_size: 1 << 12, open: false };
    let mut piece = vec![0; 1 << 12];
    tree.sample(sampled, 40, &mut piece).unwrap();
    assert!(piece.iter().any(|byte| *byte != 0));
    assert_eq!(tree.first.lock().next, 0, "what lies before a sample is not read");
    assert!(blocks(&tree, 1 << 14) == wanted);
    // Nor does a copy that begins again in other blocks.
    let _ = blocks(&tree, 1 << 12);
    assert!(blocks(&tree, 1 << 14) == wanted);
}

#[test]
fn what_a_sample_cannot_read_is_no_fault_of_the_copy() {
    let dir = Scratch::new("tree-unsampled");
    fs::create_dir(dir.join("from")).unwrap();
    let path = dir.join("from/a");
    fs::write(&path, vec![7; 10_000]).unwrap();
    let tree = tree_of(dir.join("from/"));
    let layout = Layout { length: tree.length(), block_size: 1 << 12, open: false };
    fs::rename(&path, dir.join("away")).unwrap();
    let said = tree.sample(layout, 1, &mut vec![0; 1 << 12]).unwrap_err().to_string();
    assert_eq!(said, "cannot read the tree: no such file or directory");
    assert_eq!(tree.left_out(), []);
    fs::rename(dir.join("away"), &path).unwrap();
    read_blocks(&tree, layout, 0..layout.blocks());
    assert_eq!(tree.left_out(), [], "the copy reads it");
}

#[test]
fn only_what_has_other_bytes_is_left_out_when_the_copy_begins_again() {
    const BLOCK: u32 = 1 << 12;
    let dir = Scratch::new("tree-touched-later");
    fs::create_dir(dir.join("from")).unwrap();
    let names = ["a", "b", "c", "d", "e"].map(|name| dir.join("from").join(name));
    names.iter().for_each(|name| fs::write(name, vec![7; 5000]).unwrap());
    let tree = tree_of(dir.join("from/"));
    let layout = Layout { length: tree.length(), block_size: BLOCK, open: false };
    read_blocks(&tree, layout, 0..layout.blocks());
    for (name, change) in names.iter().zip(HARMLESS) {
        change_stamp(name, &change);
    }
    change_stamp(&names[4], &change_byte);
    let _ = tree.changed(layout, 0);
    let left = tree.without_changed().unwrap().expect("something has changed").left_out();
    assert_eq!(left.iter().map(|left| &left.path).collect::<Vec<_>>(), [&names[4]]);
}

#[test]
fn blocks_of_holes_are_counted_and_what_lies_behind_them_is_the_same() {
    const BLOCK: u64 = 1 << 12;
    let dir = Scratch::new("tree-holes-counted");
    fs::create_dir(dir.join("from")).unwrap();
    fs::write(dir.join("from/before"), "a").unwrap();
    let sparse = File::create_new(dir.join("from/sparse")).unwrap();
    sparse.set_len(3000 * BLOCK + 5).unwrap();
    sparse.write_all_at(&[1], 50 * BLOCK + 7).unwrap();
    fs::write(dir.join("from/z"), "z").unwrap();
    let read = tree_of(dir.join("from/"));
    let sought = tree_of(dir.join("from/"));
    let layout = Layout { length: read.length(), block_size: BLOCK as u32, open: false };
    let mut holes = 0;
    for index in 0..layout.blocks() {
        let mut block = vec![0; layout.block_length(index) as usize];
        let mut same = block.clone();
        read.read(layout, index, &mut block).unwrap();
        match sought.holes(layout, index) {
            0 => sought.read(layout, index, &mut same).unwrap(),
            _ => holes += 1,
        }
        assert!(block == same, "block {index}");
    }
    // All but those with data, a record or an end mark.
    assert!(holes >= 2990, "{holes}");
    assert_eq!(sought.holes(layout, 60), WINDOW_MAX as u64);
    assert!(sought.left_out().is_empty());
}
