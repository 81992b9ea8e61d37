//! The paths at a tree's destination that are not part of the tree.

use garland_protocol::copy::{SURPLUS_MAX, path_memory};

/// Paths that are not part of the tree, relative to its top; those of directories end in a slash,
/// and follow what is in them.
#[derive(Debug, Default)]
pub struct Surplus {
    paths: Vec<Vec<u8>>,
    bytes: usize,
    unnamed: u64,
}

impl Surplus {
    /// The maximum memory that the paths of one tree take, in bytes.
    pub const MEMORY: usize = 2 * SURPLUS_MAX;

    /// Adds a path.
    pub fn add(&mut self, path: Vec<u8>) {
        let bytes = path_memory(&path);
        if self.bytes + bytes > SURPLUS_MAX {
            self.unnamed += 1;
            return;
        }
        self.bytes += bytes;
        self.paths.push(path);
    }

    /// Returns the paths, and the number of further ones for which there was no room.
    pub fn into_parts(self) -> (Vec<Vec<u8>>, u64) {
        (self.paths, self.unnamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_room_are_counted() {
        let mut surplus = Surplus::default();
        let count = SURPLUS_MAX / 100;
        (0..count + 3).for_each(|_| surplus.add(vec![b'x'; 100]));
        let (paths, unnamed) = surplus.into_parts();
        assert_eq!((paths.len(), unnamed), (count, 3));
    }
}
