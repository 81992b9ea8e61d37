//! A file to be installed.

/// A file of a node's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Where it goes, from the root.
    pub path: String,
    /// Its text, or the block that it gets.
    pub text: String,
    /// Its permission bits.
    pub mode: u32,
    /// Whether it is ours.
    pub place: Place,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Ours as a whole.
    Whole,
    /// Others write there too: ours is a block between two marks.
    Block,
}

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

    /// The whole file, where `old` is what is there now: with [`Place::Block`] the rest is kept,
    /// and the block stands where the old one stood, or at the end.
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

/// What is before and after our block; all is before if there is none. A block that has lost its
/// end is its first line.
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
