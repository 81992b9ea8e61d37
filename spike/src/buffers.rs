//! A bounded number of buffers. A driver has one thread, so there is nothing to lock or wait for.

/// Buffers of one size, which are used again.
#[derive(Debug)]
pub struct Buffers {
    free: Vec<Vec<u8>>,
    made: usize,
    count: usize,
    size: usize,
}

impl Buffers {
    /// Returns `count` buffers of `size` bytes; each is allocated when it is first needed.
    #[must_use]
    pub fn new(size: usize, count: usize) -> Self {
        Self { free: Vec::new(), made: 0, count, size }
    }

    /// Takes a buffer, if one is left.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let free = self.free.pop();
        free.or_else(|| (self.made < self.count).then(|| self.make()))
    }

    /// Takes a buffer; allocates one beyond the limit, for as long as it is used, if none is left.
    pub fn borrow(&mut self) -> Vec<u8> {
        self.take().unwrap_or_else(|| self.make())
    }

    /// Returns a buffer. Frames that were sent have short ones, which are dropped.
    pub fn give(&mut self, buffer: Vec<u8>) {
        if buffer.len() < self.size {
            return;
        }
        if self.made > self.count {
            self.made -= 1;
        } else {
            self.free.push(buffer);
        }
    }

    fn make(&mut self) -> Vec<u8> {
        self.made += 1;
        vec![0; self.size]
    }
}
