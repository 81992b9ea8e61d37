//! Several files as the source of one copy.

use std::sync::Arc;

use garland_core::plan::Layout;
use garland_protocol::copy::FileStamp;

use super::{Content, FeedError, Source};

/// Returns a source that consists of the bytes of all `files`, one after another.
pub fn join(mut files: Vec<Source>) -> Arc<dyn Content> {
    if files.len() == 1 {
        return Arc::new(files.remove(0));
    }
    let mut length = 0;
    let place = |file: Source| {
        let begin = length;
        length += file.length;
        (begin, file)
    };
    let files = files.into_iter().map(place).collect();
    Arc::new(FilesSource { files, length })
}

struct FilesSource {
    /// The files, each with the offset of its first byte in the copy.
    files: Vec<(u64, Source)>,
    length: u64,
}

impl FilesSource {
    /// Returns the files in order, beginning with the one that has the copy's byte at `offset`.
    fn from(&self, offset: u64) -> impl Iterator<Item = &(u64, Source)> {
        let after = self.files.partition_point(|(begin, _)| *begin <= offset);
        self.files.iter().skip(after.saturating_sub(1))
    }
}

impl Content for FilesSource {
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        let mut at = layout.offset(index);
        let mut rest = bytes;
        for (begin, file) in self.from(at) {
            let left = usize::try_from(begin + file.length - at).unwrap_or(usize::MAX);
            let (now, after) = rest.split_at_mut(left.min(rest.len()));
            file.read_at(at - begin, now)?;
            at += now.len() as u64;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn name(&self) -> String {
        let changed = self.files.iter().find(|(_, file)| !file.is_unchanged());
        let named = changed.or(self.files.first());
        named.map_or_else(|| "no file".to_owned(), |(_, file)| file.name())
    }

    fn changed(&self, layout: Layout, index: u64) -> String {
        let end = layout.offset(index) + u64::from(layout.block_length(index));
        let mut inside = self.from(layout.offset(index)).take_while(|(begin, _)| *begin < end);
        let changed = inside.find(|(_, file)| !file.is_unchanged());
        changed.map_or_else(|| self.name(), |(_, file)| file.name())
    }

    fn is_unchanged(&self) -> bool {
        self.files.iter().all(|(_, file)| file.is_unchanged())
    }

    fn stamps(&self) -> Option<Vec<FileStamp>> {
        let stamps: Option<Vec<_>> = self.files.iter().map(|(_, file)| file.stamps()).collect();
        stamps.map(|stamps| stamps.concat())
    }

    fn accept(&self, stamps: &[FileStamp]) {
        for ((_, file), stamp) in self.files.iter().zip(stamps) {
            file.accept(std::slice::from_ref(stamp));
        }
    }

    fn device(&self) -> Option<u64> {
        self.files.first().and_then(|(_, file)| file.device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn blocks_contain_the_files_one_after_another() {
        let dir = Scratch::new("files-source");
        let texts = ["ab", "", "cdefghijk", "l", ""];
        let open = |(at, text): (usize, &str)| {
            let path = dir.join(at.to_string());
            std::fs::write(&path, text).unwrap();
            Source::open(&path).unwrap()
        };
        let joined = join(texts.into_iter().enumerate().map(open).collect());
        assert_eq!(joined.length(), 12);
        for block_size in [1, 2, 5, 12, 16] {
            let layout = Layout { length: 12, block_size, open: false };
            let mut all = Vec::new();
            for index in 0..layout.blocks() {
                let mut block = vec![0; layout.block_length(index) as usize];
                joined.read(layout, index, &mut block).unwrap();
                all.extend(block);
            }
            assert_eq!(all, b"abcdefghijkl", "{block_size}");
        }
        assert!(joined.is_unchanged());
        std::fs::write(dir.join("2"), "CDEFGHIJK?").unwrap();
        assert!(!joined.is_unchanged());
        let layout = Layout { length: 12, block_size: 12, open: false };
        assert!(joined.changed(layout, 0).ends_with("/2"));
    }
}
