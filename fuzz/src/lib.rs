//! Every parser of Garland, fed with anything.
//!
//! A target takes any bytes. It panics when a parser breaks its word: what it reads it writes the same
//! again, and what it can't read is an error. It says whether it could read something: such bytes are
//! worth being changed further.

mod files;
mod texts;
mod wires;

/// A parser, and what it is fed with at first.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, as libFuzzer's program has it.
    pub name: &'static str,
    parse: fn(&[u8]) -> bool,
    examples: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Feeds it; whether it could read something.
    ///
    /// # Panics
    /// When the parser has a fault.
    pub fn run(&self, bytes: &[u8]) -> bool {
        (self.parse)(bytes)
    }

    /// Bytes of which most can be read.
    #[must_use]
    pub fn examples(&self) -> Vec<Vec<u8>> {
        (self.examples)()
    }
}

macro_rules! targets {
    ($($module:ident: $($name:ident)*;)*) => {
        /// All of them.
        pub const TARGETS: &[Target] = &[$($(Target {
            name: stringify!($name),
            parse: $module::$name::parse,
            examples: $module::$name::examples,
        }),*),*];
    };
}

targets! {
    files: known manifest plan trace tree;
    texts: cluster_file node_list ready_line target topology_file;
    wires: channel digests fabric_answer frame from_agent preamble to_agent;
}

/// The target of this name.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    *found.unwrap_or_else(|| panic!("there is no fuzz target {name}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn bytes_of(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
