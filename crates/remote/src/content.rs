//! Remote files as the source of a copy, which reads them once for all nodes.

use garland_core::plan::Layout;
use garland_dataplane::source::{Content, FeedError, RemoteFile};
use garland_dataplane::tree::{ObjectFile, Objects, Unread};

use crate::listing::{Listed, Listing};
use crate::object::Object;
use crate::trouble::Trouble;

/// The permission bits of files copied from objects and URLs, which have none.
const MODE: u32 = 0o644;

impl Object {
    fn unfed(&self, trouble: &Trouble) -> FeedError {
        if trouble.is_stale() {
            FeedError::NotYet
        } else if trouble.is_change() {
            FeedError::Changed(self.name())
        } else {
            FeedError::Broken(trouble.message().to_owned())
        }
    }
}

impl Content for Object {
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        self.fill(layout.offset(index), bytes).map_err(|trouble| self.unfed(&trouble))
    }

    fn await_block(
        &self,
        layout: Layout,
        index: u64,
        stale: &dyn Fn() -> bool,
    ) -> Result<u32, FeedError> {
        let offset = layout.offset(index);
        let length = layout.block_length(index);
        let waited = self.wait(offset..offset + u64::from(length), stale);
        waited.map_err(|trouble| self.unfed(&trouble))?;
        Ok(length)
    }

    fn length(&self) -> u64 {
        self.size()
    }

    fn name(&self) -> String {
        self.address().to_string()
    }

    /// Always true: each read checks that the object has not changed since it was opened.
    fn is_unchanged(&self) -> bool {
        true
    }

    fn device(&self) -> Option<u64> {
        None
    }
}

impl RemoteFile for Object {
    fn file_name(&self) -> Option<Vec<u8>> {
        self.address().file_name()
    }

    fn mode(&self) -> u32 {
        MODE
    }

    fn modified(&self) -> Option<(i64, u32)> {
        self.time()
    }
}

impl<'a> From<Listed<'a>> for ObjectFile<'a> {
    fn from(listed: Listed<'a>) -> Self {
        let Listed { path, is_readable, length, modified } = listed;
        Self { path: path.as_bytes(), is_readable, length, mode: MODE, modified }
    }
}

impl Objects for Listing {
    fn begin(&self, numbers: &mut dyn FnMut() -> Vec<u32>) {
        self.start(numbers);
    }

    fn read(&self, number: u32, offset: u64, bytes: &mut [u8]) -> Result<(), Unread> {
        self.fill(number, offset, bytes).map_err(|trouble| {
            let reason = trouble.message().to_owned();
            if trouble.is_change() { Unread::Object(reason) } else { Unread::Store(reason) }
        })
    }
}
