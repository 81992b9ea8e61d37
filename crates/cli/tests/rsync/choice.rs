//! What is asked of both programs.

use std::path::Path;

use garland_testkit::Chance;

/// Patterns that both programs know.
const PATTERNS: [&str; 14] = [
    "*.o",
    "/d",
    "e/",
    "b",
    "d/*",
    "**/f",
    "[a-c]",
    "x?y",
    "d/***",
    "[[:upper:]]",
    "x\\y",
    "*\\y",
    "a**",
    "/*/a",
];

/// Options that both programs have.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Whether the contents of the source go straight into the destination.
    pub contents_only: bool,
    /// Whether rsync keeps hard links, too; Garland always does.
    pub hard_links: bool,
    pub checksum: bool,
    pub delete: bool,
    pub xattrs: bool,
    pub excluded: Vec<&'static str>,
}

impl Choice {
    /// Draws those that may differ between the copies of a round.
    pub fn draw(chance: &mut Chance) -> Self {
        let number = if chance.below(4) == 0 { 1 + chance.below(2) } else { 0 };
        Self {
            contents_only: false,
            hard_links: false,
            checksum: chance.below(4) == 0,
            delete: chance.below(2) == 0,
            xattrs: chance.below(4) == 0,
            excluded: (0..number).map(|_| chance.pick(&PATTERNS)).collect(),
        }
    }

    /// Returns the path of the source as an argument.
    pub fn source(&self, source: &Path) -> String {
        let slash = if self.contents_only { "/" } else { "" };
        format!("{}{slash}", source.display())
    }

    fn common(&self) -> Vec<String> {
        let mut words = vec!["-a".to_owned()];
        words.extend(self.checksum.then(|| "-c".to_owned()));
        words.extend(self.delete.then(|| "--delete".to_owned()));
        words.extend(self.excluded.iter().map(|pattern| format!("--exclude={pattern}")));
        words
    }

    pub fn of_rsync(&self) -> Vec<String> {
        let mut words = self.common();
        words.extend(self.hard_links.then(|| "-H".to_owned()));
        words.extend(self.xattrs.then(|| "-AX".to_owned()));
        words
    }

    pub fn of_garland(&self) -> Vec<String> {
        let mut words = self.common();
        words.push("-q".to_owned());
        words.extend(self.xattrs.then(|| "--xattrs".to_owned()));
        words
    }
}
