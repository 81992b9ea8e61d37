//! The paths at a tree's destination that are not part of the tree.

/// The maximum number of bytes of all paths together; further paths are only counted.
const BYTES: usize = 2 << 20;

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
    pub const MEMORY: usize = 2 * BYTES;

    /// Adds a path.
    pub fn add(&mut self, path: Vec<u8>) {
        // Short paths take more memory than their bytes.
        let bytes = path.len().max(size_of::<Vec<u8>>());
        if self.bytes + bytes > BYTES {
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
        let count = BYTES / 100;
        (0..count + 3).for_each(|_| surplus.add(vec![b'x'; 100]));
        let (paths, unnamed) = surplus.into_parts();
        assert_eq!((paths.len(), unnamed), (count, 3));
    }
}
