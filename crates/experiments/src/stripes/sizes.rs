//! The sizes of a copy in operations.

/// The lengths of the file, of a buffer and of an operation, in bytes, and the operations in
/// progress.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub length: u64,
    pub buffer: u64,
    pub operation: u64,
    /// The number of operations that may be in progress beyond the oldest one.
    pub overlap: u64,
}

impl Sizes {
    /// Returns the number of operations of a copy; the last one may be shorter.
    pub fn operations(self) -> u64 {
        self.length.div_ceil(self.operation)
    }

    /// Returns the predicted seconds of a copy whose bytes alone take `bytes_s`, if the source
    /// waits for `before_s` before each operation, and the server for `after_s` before it ends a
    /// whole one. Source, wire and server take one operation after another; an operation begins
    /// when there are not too many before it that have not ended.
    pub fn seconds(self, bytes_s: f64, before_s: f64, after_s: f64) -> f64 {
        let mut ends: Vec<f64> = Vec::new();
        let mut read = 0.0_f64;
        let mut sent = 0.0_f64;
        for at in 0..self.operations() {
            let bytes = self.operation.min(self.length - at * self.operation);
            let oldest = at.checked_sub(self.overlap + 1).and_then(|at| ends.get(at as usize));
            read = read.max(oldest.copied().unwrap_or(0.0)) + before_s;
            sent = sent.max(read) + bytes_s * bytes as f64 / self.length as f64;
            let after_s = if bytes == self.operation { after_s } else { 0.0 };
            ends.push(sent.max(ends.last().copied().unwrap_or(0.0)) + after_s);
        }
        ends.last().copied().unwrap_or(bytes_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_add_up_without_overlap_and_hide_behind_the_wire_with_one() {
        let sizes = |operation, overlap| Sizes { length: 100, buffer: 1, operation, overlap };
        let seconds = |operation, overlap| sizes(operation, overlap).seconds(50.0, 2.0, 1.0);
        assert_eq!(seconds(10, 0), 50.0 + 20.0 + 10.0);
        assert_eq!(seconds(50, 0), 50.0 + 4.0 + 2.0);
        // The last operation is short, and the server does not wait in it.
        assert_eq!(seconds(40, 0), 50.0 + 6.0 + 2.0);
        assert_eq!(seconds(10, 1), 50.0 + 2.0 + 1.0);
        // Longer than the wire, the waits are the limit.
        assert_eq!(sizes(10, 9).seconds(50.0, 8.0, 1.0), 80.0 + 5.0 + 1.0);
    }
}
