//! Limits of a tree stream at its destination: only requested files are created or removed,
//! whatever the sender puts into the stream.

use thiserror::Error;

use super::glob::NameGlob;
use super::pattern::{Pattern, PatternError};
use super::record::{Meta, Record};
use super::source_path::TopName;
use crate::printable;

/// The error for a record that exceeds the limits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Excess {
    /// A name other than the requested ones.
    #[error("the source sent {path}, but only {asked} was requested")]
    Outside {
        /// The path of the unexpected name, relative to the destination.
        path: String,
        /// The names and patterns that were requested.
        asked: String,
    },
    /// A name that an exclude pattern matches, with its path.
    #[error("the source sent {0}, which --exclude excludes")]
    Excluded(String),
    /// Metadata of the destination directory itself, although only this name in it was requested.
    #[error(
        "the source sent attributes of the destination directory, but only its entry {0} was requested"
    )]
    Destination(String),
    /// Extended attributes of the file with this path.
    #[error("the source sent extended attributes of {0}, which were not requested (--xattrs)")]
    Attributes(String),
    /// A directory or link with this path, although only files were requested.
    #[error(
        "the source sent {0}, which is no file, although only files were requested (without -r)"
    )]
    NoFile(String),
    /// An order to remove files, or to keep some from removal, although removals were not
    /// requested.
    #[error("the source sent an order to remove files, which was not requested (--delete)")]
    Removal,
}

/// Checks the records of one stream, in their order.
#[derive(Debug)]
pub struct LimitCheck {
    removes: bool,
    attributes: bool,
    tops: Option<Vec<TopName>>,
    /// The patterns in `tops`.
    globs: Vec<NameGlob>,
    files_only: bool,
    excludes: Vec<Pattern>,
    /// The stream's current directory, relative to the top; empty or with a slash at its end.
    path: Vec<u8>,
    /// For each directory of the current path, the length of `path` before that directory was
    /// entered.
    lengths: Vec<usize>,
}

impl LimitCheck {
    /// Returns a checker for a new stream. If `tops` is given, no other names are allowed in the
    /// destination directory. Names that a pattern of `excludes` matches are not allowed anywhere.
    /// `removes` allows removals, and `attributes` allows extended attributes.
    ///
    /// # Errors
    /// If an exclude pattern is invalid.
    pub fn new(
        tops: Option<&[TopName]>,
        excludes: &[Vec<u8>],
        removes: bool,
        attributes: bool,
    ) -> Result<Self, PatternError> {
        let glob = |top: &TopName| match top {
            TopName::Name(_) => None,
            TopName::Pattern(pattern) => Some(NameGlob::parse(pattern)),
        };
        let excludes = excludes.iter().map(|pattern| Pattern::parse(pattern));
        Ok(Self {
            removes,
            attributes,
            tops: tops.map(Vec::from),
            globs: tops.unwrap_or_default().iter().filter_map(glob).collect(),
            files_only: false,
            excludes: excludes.collect::<Result<_, _>>()?,
            path: Vec::new(),
            lengths: Vec::new(),
        })
    }

    /// Sets whether the stream may have files only; it may have directories and links unless this
    /// is called.
    #[must_use]
    pub fn with_files_only(self, files_only: bool) -> Self {
        Self { files_only, ..self }
    }

    /// Checks the next record.
    ///
    /// # Errors
    /// The exceeded limit; the rest of the stream must not be used.
    pub fn check(&mut self, record: &Record) -> Result<(), Excess> {
        if let Some(name) = record.name() {
            if self.files_only && !matches!(record, Record::File { .. }) {
                return Err(Excess::NoFile(printable::name(&[&self.path, name].concat())));
            }
            self.check_name(name, matches!(record, Record::Enter { .. }))?;
        }
        match record {
            Record::Enter { name, meta } => {
                self.check_meta(name, meta)?;
                self.lengths.push(self.path.len());
                self.path.extend_from_slice(name);
                self.path.push(b'/');
            }
            Record::Leave => self.path.truncate(self.lengths.pop().unwrap_or(0)),
            Record::File { name, meta, .. } | Record::Link { name, meta, .. } => {
                self.check_meta(name, meta)?;
            }
            Record::Name { first, .. } => self.check_first(first)?,
            Record::Top(meta) => {
                if let Some(tops) = &self.tops {
                    return Err(Excess::Destination(asked(tops)));
                }
                self.check_meta(b".", meta)?;
            }
            Record::Spare(_) if !self.removes => return Err(Excess::Removal),
            // In the destination directory itself only the requested names may be removed.
            Record::Sweep if !self.removes || self.lengths.is_empty() && self.tops.is_some() => {
                return Err(Excess::Removal);
            }
            Record::Spare(_) | Record::Sweep | Record::Kept { .. } | Record::End => {}
        }
        Ok(())
    }

    fn check_name(&self, name: &[u8], is_directory: bool) -> Result<(), Excess> {
        if self.lengths.is_empty() {
            self.check_top(name, name)?;
        }
        self.check_path(&self.path, name, is_directory)
    }

    /// Checks the path of the file to which a hard link refers: the stream must be allowed to
    /// contain it.
    fn check_first(&self, first: &[Vec<u8>]) -> Result<(), Excess> {
        let mut path = Vec::new();
        for (depth, name) in first.iter().enumerate() {
            if depth == 0 {
                self.check_top(name, &first.join(&b'/'))?;
            }
            self.check_path(&path, name, depth + 1 < first.len())?;
            path.extend_from_slice(name);
            path.push(b'/');
        }
        Ok(())
    }

    fn check_top(&self, name: &[u8], path: &[u8]) -> Result<(), Excess> {
        let Some(tops) = &self.tops else { return Ok(()) };
        let is_name = |top: &TopName| matches!(top, TopName::Name(own) if own == name);
        if tops.iter().any(is_name) || self.globs.iter().any(|glob| glob.matches(name)) {
            return Ok(());
        }
        Err(Excess::Outside { path: printable::name(path), asked: asked(tops) })
    }

    fn check_path(&self, above: &[u8], name: &[u8], is_directory: bool) -> Result<(), Excess> {
        if self.excludes.is_empty() {
            return Ok(());
        }
        let path = [above, name].concat();
        match Pattern::exclude(&self.excludes, &path, is_directory) {
            true => Err(Excess::Excluded(printable::name(&path))),
            false => Ok(()),
        }
    }

    fn check_meta(&self, name: &[u8], meta: &Meta) -> Result<(), Excess> {
        if self.attributes || meta.attributes.is_empty() {
            return Ok(());
        }
        Err(Excess::Attributes(printable::name(&[&self.path, name].concat())))
    }
}

/// Formats the names that were requested.
fn asked(tops: &[TopName]) -> String {
    let mut shown: Vec<String> = Vec::new();
    for top in tops {
        let (TopName::Name(name) | TopName::Pattern(name)) = top;
        shown.push(printable::name(name));
    }
    // A pattern stands for itself, too.
    shown.dedup();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments of [`LimitCheck::new`].
    #[derive(Clone, Default)]
    struct Limits {
        removes: bool,
        attributes: bool,
        tops: Option<Vec<TopName>>,
        files_only: bool,
        excludes: Vec<Vec<u8>>,
    }

    impl Limits {
        fn check(&self) -> Result<LimitCheck, PatternError> {
            let Self { removes, attributes, tops, files_only, excludes } = self;
            let check = LimitCheck::new(tops.as_deref(), excludes, *removes, *attributes)?;
            Ok(check.with_files_only(*files_only))
        }
    }

    fn enter(name: &str) -> Record {
        Record::Enter { name: name.into(), meta: Meta::default() }
    }

    fn file(name: &str) -> Record {
        let name = name.into();
        let meta = Meta::default();
        Record::File { name, meta, length: 0, sparse: false, linked: false }
    }

    fn link(name: &str) -> Record {
        Record::Link { name: name.into(), meta: Meta::default(), target: b"x".to_vec() }
    }

    fn name(name: &str, first: &[&str]) -> Record {
        let first = first.iter().map(|name| name.as_bytes().to_vec()).collect();
        Record::Name { name: name.into(), first }
    }

    /// Checks `records`; only the last one may exceed a limit.
    #[track_caller]
    fn last(limits: &Limits, records: &[Record]) -> Result<(), String> {
        let mut check = limits.check().unwrap();
        let (last, before) = records.split_last().unwrap();
        before.iter().for_each(|record| check.check(record).unwrap());
        check.check(last).map_err(|excess| excess.to_string())
    }

    fn data() -> Limits {
        Limits { tops: Some(vec![TopName::Name(b"data".to_vec())]), ..Limits::default() }
    }

    #[test]
    fn what_was_asked_for_passes() {
        let records = [
            enter("data"),
            file("x"),
            enter("data"),
            link(".bashrc"),
            Record::Leave,
            name("y", &["data", "x"]),
            Record::Leave,
            Record::End,
        ];
        assert_eq!(last(&data(), &records), Ok(()));
        assert_eq!(last(&data(), &[file("data")]), Ok(()));
        // `data/` requests all names in it, and the metadata of the directory itself.
        let any = Limits::default();
        assert_eq!(last(&any, &[Record::Top(Meta::default()), file(".bashrc")]), Ok(()));
    }

    #[test]
    fn names_outside_of_it_are_refused_at_any_time() {
        let outside =
            |path: &str| Err(format!("the source sent {path}, but only data was requested"));
        for record in [enter(".ssh"), file(".ssh"), link(".ssh"), name(".ssh", &["data", "x"])] {
            assert_eq!(last(&data(), std::slice::from_ref(&record)), outside(".ssh"));
            assert_eq!(last(&data(), &[enter("data"), Record::Leave, record]), outside(".ssh"));
        }
        let other = name("y", &[".ssh", "id"]);
        assert_eq!(last(&data(), &[enter("data"), other]), outside(".ssh/id"));
        assert_eq!(last(&data(), &[file("a\n\u{1b}[2J")]), outside("a\\n\\x1b[2J"));
        let said = last(&data(), &[Record::Top(Meta::default())]).unwrap_err();
        assert!(said.contains("attributes of the destination directory"), "{said}");
    }

    #[test]
    fn a_pattern_allows_the_files_that_it_matches_and_no_other_entry() {
        let tops = vec![TopName::Pattern(b"*.log".to_vec()), TopName::Name(b"hosts".to_vec())];
        let limits = Limits { tops: Some(tops), files_only: true, ..Limits::default() };
        assert_eq!(last(&limits, &[file("a.log"), file("hosts"), Record::End]), Ok(()));
        for name in [".log", ".bashrc", "a.logs", "*.log "] {
            let wanted = format!("the source sent {name}, but only *.log, hosts was requested");
            assert_eq!(last(&limits, &[file(name)]), Err(wanted));
        }
        for record in [enter("a.log"), link("a.log"), name("a.log", &["hosts"])] {
            let said = last(&limits, &[record]).unwrap_err();
            assert!(said.starts_with("the source sent a.log, which is no file"), "{said}");
        }
        let said = last(&limits, &[Record::Top(Meta::default())]).unwrap_err();
        assert!(said.contains("attributes of the destination directory"), "{said}");
    }

    #[test]
    fn nothing_is_removed_unless_that_was_asked_for() {
        let refused =
            Err("the source sent an order to remove files, which was not requested (--delete)"
                .to_owned());
        for limits in [Limits::default(), data()] {
            assert_eq!(last(&limits, &[Record::Spare(Vec::new())]), refused);
            assert_eq!(last(&limits, &[Record::Sweep]), refused);
            assert_eq!(last(&limits, &[enter("data"), Record::Sweep]), refused);
        }
        let asked = Limits { removes: true, ..Limits::default() };
        assert_eq!(last(&asked, &[Record::Spare(Vec::new()), Record::Sweep]), Ok(()));
        let below = Limits { removes: true, ..data() };
        assert_eq!(last(&below, &[enter("data"), Record::Sweep]), Ok(()));
        assert_eq!(last(&below, &[enter("data"), Record::Leave, Record::Sweep]), refused);
    }

    #[test]
    fn what_is_excluded_is_refused() {
        let excludes = vec![b"/data/keys/".to_vec(), b"*.o".to_vec()];
        let limits = Limits { excludes, ..data() };
        let refused = |path: &str| Err(format!("the source sent {path}, which --exclude excludes"));
        assert_eq!(last(&limits, &[enter("data"), file("keys")]), Ok(()));
        assert_eq!(last(&limits, &[enter("data"), enter("keys")]), refused("data/keys"));
        let deep = [enter("data"), enter("in"), file("x.o")];
        assert_eq!(last(&limits, &deep), refused("data/in/x.o"));
        let other = [enter("data"), name("y", &["data", "keys", "id"])];
        assert_eq!(last(&limits, &other), refused("data/keys"));
        let broken = Limits { excludes: vec![b"a[".to_vec()], ..Limits::default() };
        assert!(broken.check().is_err());
    }

    #[test]
    fn extended_attributes_are_set_only_if_asked_for() {
        let attributes = vec![(b"security.capability".to_vec(), b"x".to_vec())];
        let meta = Meta { attributes, ..Meta::default() };
        let records = [
            Record::Enter { name: b"d".to_vec(), meta: meta.clone() },
            Record::Link { name: b"d".to_vec(), meta: meta.clone(), target: b"x".to_vec() },
            Record::Top(meta),
        ];
        let asked = Limits { attributes: true, ..Limits::default() };
        for record in records {
            let said = last(&Limits::default(), std::slice::from_ref(&record)).unwrap_err();
            assert!(said.contains("extended attributes of"), "{said}");
            assert_eq!(last(&asked, &[record]), Ok(()));
        }
    }
}
