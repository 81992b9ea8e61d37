//! The sizes of a copy in operations.

/// The job's sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub length: u64,
    pub buffer: u64,
    pub operation: u64,
}

impl Sizes {
    /// How many operations there are.
    pub fn operations(self) -> u64 {
        self.length.div_ceil(self.operation)
    }
}
