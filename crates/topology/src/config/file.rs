//! A file to install.

/// A file of a node's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// The absolute path.
    pub path: String,
    /// The contents of the file, or of the block if only a block is written.
    pub text: String,
    /// The permission bits of the file.
    pub mode: u32,
    /// Whether the whole file or only a block of it is written.
    pub place: Place,
}

/// The part of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole file.
    Whole,
    /// A block between two marker lines, in a file with other contents.
    Block,
}

/// The prefix of file names in directories with many files. The tools read files in the order of
/// their names, and use the first one that matches a device.
pub(super) const PREFIX: &str = "10-garland-";

const BEGIN: &str = "# begin garland\n";
const END: &str = "# end garland\n";

impl ConfigFile {
    pub(super) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), mode: 0o644, place: Place::Whole }
    }

    pub(super) fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    pub(super) fn block(self) -> Self {
        Self { place: Place::Block, ..self }
    }

    /// Returns the new contents of the file. `old` is what it contains now, or `None` if it does
    /// not exist. With [`Place::Block`] the block replaces the old block or is appended, and the
    /// rest is kept.
    #[must_use]
    pub fn over(&self, old: Option<&str>) -> String {
        match self.place {
            Place::Whole => self.text.clone(),
            Place::Block => {
                let block = format!("{BEGIN}{}{END}", self.text);
                let old = old.unwrap_or_default();
                let (before, after) = around(old);
                let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
                format!("{before}{gap}{block}{after}")
            }
        }
    }
}

/// Returns the text before and after the block. Without a block, all text is before it. If the end
/// marker is missing, only the begin marker counts as the block.
fn around(old: &str) -> (&str, &str) {
    let begin = match old.find(BEGIN) {
        Some(at) if at == 0 || old[..at].ends_with('\n') => at,
        _ => return (old, ""),
    };
    let inside = &old[begin + BEGIN.len()..];
    let after = inside.find(END).map_or(inside, |end| &inside[end + END.len()..]);
    (&old[..begin], after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_leaves_the_rest_of_the_file_alone() {
        let hosts = ConfigFile::new("/etc/hosts", "10.0.0.1 a\n").block();
        let fresh = "# begin garland\n10.0.0.1 a\n# end garland\n";
        assert_eq!(hosts.over(None), fresh);
        let first = hosts.over(Some("127.0.0.1 localhost"));
        assert_eq!(first, format!("127.0.0.1 localhost\n{fresh}"));
        let newer = ConfigFile::new("/etc/hosts", "10.0.0.2 b\n").block();
        let after = newer.over(Some(&format!("{first}10.9.9.9 other\n")));
        let expected =
            "127.0.0.1 localhost\n# begin garland\n10.0.0.2 b\n# end garland\n10.9.9.9 other\n";
        assert_eq!(after, expected);
        assert_eq!(newer.over(Some(&after)), expected);
        let torn = "x\n# begin garland\n10.9.9.9 other\n";
        assert_eq!(hosts.over(Some(torn)), format!("x\n{fresh}10.9.9.9 other\n"));
    }
}
