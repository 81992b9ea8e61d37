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
    pub one_file_system: bool,
    pub no_perms: bool,
    pub no_times: bool,
    pub modify_window: Option<u64>,
    pub max_delete: Option<u64>,
    pub excluded: Vec<&'static str>,
}

impl Choice {
    /// Draws those that may differ between the copies of a round.
    pub fn draw(chance: &mut Chance) -> Self {
        let number = if chance.below(4) == 0 { 1 + chance.below(2) } else { 0 };
        let checksum = chance.below(4) == 0;
        let delete = chance.below(2) == 0;
        let xattrs = chance.below(4) == 0;
        let excluded = (0..number).map(|_| chance.pick(&PATTERNS)).collect();
        // What is refused together is not drawn together.
        Self {
            contents_only: false,
            hard_links: false,
            checksum,
            delete,
            xattrs,
            one_file_system: chance.below(4) == 0,
            no_perms: chance.below(6) == 0 && !xattrs,
            no_times: chance.below(6) == 0,
            modify_window: (chance.below(4) == 0 && !checksum).then(|| chance.below(3)),
            // Neither program documents which entries it removes first.
            max_delete: (chance.below(4) == 0 && delete).then(|| chance.pick(&[0, 1_000_000])),
            excluded,
        }
    }

    /// Returns those of file systems that keep less, where what a copy does not set is another
    /// question.
    pub fn setting_all(self) -> Self {
        Self { no_perms: false, no_times: false, modify_window: None, max_delete: None, ..self }
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
        words.extend(self.one_file_system.then(|| "-x".to_owned()));
        words.extend(self.no_perms.then(|| "--no-perms".to_owned()));
        words.extend(self.no_times.then(|| "--no-times".to_owned()));
        words.extend(self.modify_window.map(|seconds| format!("--modify-window={seconds}")));
        words.extend(self.max_delete.map(|most| format!("--max-delete={most}")));
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
