//! The kinds of copies, which decide on which options have an effect.

use std::fmt;

/// The kinds of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of this machine to nodes.
    File,
    /// An object or a URL to nodes.
    Object,
    /// Standard input, the output of a command, or a named pipe, to nodes.
    Stream,
    /// Files and directories to nodes.
    Tree,
    /// One file, striped over all nodes.
    Stripes,
    /// A file of each node to this machine.
    FromFiles,
    /// Several files of each node, by paths or patterns, to this machine.
    FromMany,
    /// A tree of each node to this machine.
    FromTrees,
    /// One file, striped over nodes, to this machine.
    FromStripes,
    /// Nodes join a running copy.
    Join,
    /// The files and directories that come into a spool, to nodes.
    Spool,
}

/// A set of kinds, one bit each.
pub type Kinds = u16;

pub const FILE: Kinds = Kind::File.bit();
pub const OBJECT: Kinds = Kind::Object.bit();
pub const STREAM: Kinds = Kind::Stream.bit();
pub const TREE: Kinds = Kind::Tree.bit();
pub const STRIPES: Kinds = Kind::Stripes.bit();
pub const FROM_FILES: Kinds = Kind::FromFiles.bit();
pub const FROM_MANY: Kinds = Kind::FromMany.bit();
pub const FROM_TREES: Kinds = Kind::FromTrees.bit();
pub const FROM_STRIPES: Kinds = Kind::FromStripes.bit();
pub const JOIN: Kinds = Kind::Join.bit();
pub const SPOOL: Kinds = Kind::Spool.bit();
/// Copies to nodes in which every node gets everything.
pub const BROADCAST: Kinds = FILE | OBJECT | STREAM | TREE;
pub const TO_NODES: Kinds = BROADCAST | STRIPES;
pub const FROM_NODES: Kinds = FROM_FILES | FROM_MANY | FROM_TREES | FROM_STRIPES;
pub const COPY: Kinds = TO_NODES | FROM_NODES;

impl Kind {
    /// Returns the set of this kind alone.
    pub const fn bit(self) -> Kinds {
        1 << self as u16
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a copy of a file to nodes",
            Self::Object => "a copy of an object or URL to nodes",
            Self::Stream => "a copy of a stream to nodes",
            Self::Tree => "a copy of a tree to nodes",
            Self::Stripes => "a striped copy to nodes",
            Self::FromFiles => "a copy of files from nodes",
            Self::FromMany => "a copy of several files from nodes",
            Self::FromTrees => "a copy of trees from nodes",
            Self::FromStripes => "a striped copy from nodes",
            Self::Join => "a running copy (--join)",
            Self::Spool => "a spool",
        })
    }
}
