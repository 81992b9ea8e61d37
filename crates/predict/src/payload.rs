//! What is done to the bytes of a copy before they are sent, and after they arrive.

/// The form in which the bytes of a copy go over wires. Times are in CPU seconds per byte of the
/// source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payload {
    /// Whether blocks are encrypted.
    pub sealed: bool,
    /// The bytes that are sent per byte of the source, above 0; 1 if blocks are not compressed.
    pub ratio: f64,
    /// The time of compressing at the head.
    pub pack: f64,
    /// The time of decompressing at each node.
    pub unpack: f64,
}

impl Payload {
    /// Encrypted blocks that are not compressed: the default of copies.
    pub const USUAL: Self = Self { sealed: true, ratio: 1.0, pack: 0.0, unpack: 0.0 };
}
