//! The sizes of a copy in operations.

/// The lengths of the file, of a buffer and of an operation, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub length: u64,
    pub buffer: u64,
    pub operation: u64,
}

impl Sizes {
    /// Returns the number of operations of a copy; the last one may be shorter.
    pub fn operations(self) -> u64 {
        self.length.div_ceil(self.operation)
    }
}
