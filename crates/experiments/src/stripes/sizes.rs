//! The sizes of a copy in operations.

/// Lengths of file, buffer and operation in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub length: u64,
    pub buffer: u64,
    pub operation: u64,
}

impl Sizes {
    /// Returns the number of operations.
    pub fn operations(self) -> u64 {
        self.length.div_ceil(self.operation)
    }
}
