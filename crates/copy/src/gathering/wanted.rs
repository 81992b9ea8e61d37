//! Which node is asked for what.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_core::cluster::Node;
use garland_core::printable;
use garland_core::tree::{PATH_MAX, SourcePath, TopName};
use garland_fleet::inventory::Inventory;
use garland_protocol::copy::{StatRequest, TreeStatRequest};
use garland_terminal::failure::Failure;

use crate::spec::CopySpec;

/// The maximum number of bytes of the paths that a node is asked for: they are one message.
const PATHS_BYTES_MAX: usize = 32 << 10;

/// A source on nodes, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromNodes {
    /// The node list.
    pub list: String,
    /// The path on these nodes, which may be a pattern.
    pub path: PathBuf,
}

/// What one node is asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The node.
    pub node: Node,
    /// The paths on it; never none.
    pub paths: Vec<SourcePath>,
}

impl FromNodes {
    /// Returns the path. A striped file is called by its own name.
    fn source_path(&self, spec: &CopySpec) -> SourcePath {
        let path = self.path.as_os_str().as_bytes();
        match spec.plan.is_striped() {
            true => SourcePath::Literal(path.to_vec()),
            false => SourcePath::parse(path),
        }
    }

    /// Returns whether more than one entry may be at the path.
    pub fn is_pattern(&self) -> bool {
        let path = SourcePath::parse(self.path.as_os_str().as_bytes());
        matches!(path, SourcePath::Pattern(_))
    }
}

impl Wanted {
    /// Returns what the nodes of `sources` are asked for, in the order in which they are named
    /// first.
    ///
    /// # Errors
    /// When a node list cannot be expanded, or a path cannot be asked for in this way.
    pub fn all(
        spec: &CopySpec,
        sources: &[FromNodes],
        inventory: &Inventory,
    ) -> Result<Vec<Self>, Failure> {
        let mut all: Vec<Self> = Vec::new();
        for source in sources {
            let path = source.source_path(spec);
            refuse_unless_named(&path, spec)?;
            for node in inventory.nodes(&source.list)? {
                match all.iter_mut().find(|wanted| wanted.node.name == node.name) {
                    Some(wanted) if wanted.paths.contains(&path) => {}
                    Some(wanted) => wanted.paths.push(path.clone()),
                    None => all.push(Self { node, paths: vec![path.clone()] }),
                }
            }
        }
        all.iter().try_for_each(Self::refuse_too_many)?;
        Ok(all)
    }

    fn refuse_too_many(&self) -> Result<(), Failure> {
        let bytes: usize =
            self.paths.iter().map(|path| path.bytes().len() + size_of::<u64>()).sum();
        if bytes <= PATHS_BYTES_MAX {
            return Ok(());
        }
        let name = &self.node.name;
        let count = self.paths.len();
        let what = format!("cannot ask {name} for {count} paths at once: they have {bytes} bytes");
        Err(Failure::usage(format!("{what}, and {PATHS_BYTES_MAX} fit into a message"))
            .hint("use patterns, or copy their directory with -r"))
    }

    /// Returns whether several entries may come.
    pub fn is_many(&self) -> bool {
        !matches!(&self.paths[..], [SourcePath::Literal(_)])
    }

    /// Returns the only path; `None` if there are several.
    pub fn only_path(&self) -> Option<&[u8]> {
        match &self.paths[..] {
            [path] => Some(path.bytes()),
            _ => None,
        }
    }

    /// Returns the last component of the only path; empty if the content of a directory is meant,
    /// or if there are several paths.
    pub fn name(&self) -> &OsStr {
        let path = self.only_path().unwrap_or_default();
        let name = Path::new(OsStr::from_bytes(path)).file_name();
        name.filter(|_| !path.ends_with(b"/")).unwrap_or_default()
    }

    /// Returns the only names that the node may send; `None` if it may send any.
    pub fn top_names(&self) -> Option<Vec<TopName>> {
        let names: Option<Vec<_>> = self.paths.iter().map(SourcePath::top_names).collect();
        names.map(|names| names.concat())
    }

    /// Returns the paths, for messages.
    pub fn shown(&self) -> String {
        let shown: Vec<String> =
            self.paths.iter().map(|path| printable::name(path.bytes())).collect();
        shown.join(", ")
    }

    /// Returns the request to the node.
    pub fn request(&self, spec: &CopySpec) -> StatRequest {
        let tree = || TreeStatRequest {
            excludes: spec.source.raw_excludes(),
            attributes: spec.source.keeps_attributes,
            one_file_system: spec.source.is_one_file_system,
            files_only: !spec.source.is_tree,
            tells_absence: spec.run.is_dry,
        };
        StatRequest {
            paths: self.paths.clone(),
            stripes: spec.plan.is_striped(),
            tree: (spec.source.is_tree || self.is_many()).then(tree),
        }
    }
}

/// Refuses a path that is too long, or names no entry where one is needed.
fn refuse_unless_named(path: &SourcePath, spec: &CopySpec) -> Result<(), Failure> {
    if path.bytes().len() > PATH_MAX {
        let message = format!("a path on nodes has more than {PATH_MAX} bytes");
        return Err(Failure::usage(message));
    }
    if path.last_name().is_some() {
        return Ok(());
    }
    let shown = printable::name(path.bytes());
    if let SourcePath::Pattern(_) = path {
        let message =
            format!("cannot copy {shown}: it would mix the contents of several directories");
        return Err(Failure::usage(message).hint(
            "directories are copied under their own names by a pattern that ends in their names",
        ));
    }
    if spec.source.is_tree {
        return Ok(());
    }
    Err(Failure::usage(format!("{shown} does not name a file"))
        .hint("directories are copied with -r"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(paths: &[&str]) -> Wanted {
        let paths = paths.iter().map(|path| SourcePath::parse(path.as_bytes())).collect();
        Wanted { node: Node::named("n1"), paths }
    }

    #[test]
    fn only_one_literal_path_is_one_file() {
        assert!(!wanted(&["/log/x"]).is_many());
        assert!(!wanted(&["/log/\\*"]).is_many());
        assert!(wanted(&["/log/*"]).is_many());
        assert!(wanted(&["/log/x", "/log/y"]).is_many());
        assert_eq!(wanted(&["/log/x"]).name(), "x");
        assert_eq!(wanted(&["/log/"]).name(), "");
        assert_eq!(wanted(&["/log/x", "/log/y"]).name(), "");
        assert_eq!(wanted(&["/log/x", "/log/*"]).shown(), "/log/x, /log/*");
    }

    #[test]
    fn more_paths_than_fit_into_a_message_are_refused() {
        let path = "/log/".to_owned() + &"x".repeat(100);
        let many = wanted(&[path.as_str(); 289]);
        assert!(many.refuse_too_many().is_ok());
        let said = wanted(&[path.as_str(); 290]).refuse_too_many().unwrap_err().to_string();
        assert!(
            said.contains("cannot ask n1 for 290 paths at once: they have 32770 bytes"),
            "{said}"
        );
    }

    #[test]
    fn a_directory_whose_content_is_copied_may_bring_any_name() {
        assert_eq!(wanted(&["/log/x", "/etc/*"]).top_names().map(|names| names.len()), Some(3));
        assert_eq!(wanted(&["/log/x", "/etc/"]).top_names(), None);
    }
}
