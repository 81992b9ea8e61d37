//! Fuzz targets for every parser of Garland.
//!
//! A target takes any bytes. It panics if a parser violates its contract: a parsed value must be
//! written as the same value again, and other input must be an error. It returns whether it could
//! parse something: such input is worth changing further.

mod files;
mod texts;
mod wires;

/// A parser and its first inputs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, also that of libFuzzer's program.
    pub name: &'static str,
    parse: fn(&[u8]) -> bool,
    examples: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Feeds bytes to the parser. Returns whether it could parse something.
    ///
    /// # Panics
    /// Panics if the parser violates its contract.
    pub fn run(&self, bytes: &[u8]) -> bool {
        (self.parse)(bytes)
    }

    /// Returns inputs, most of which can be parsed.
    #[must_use]
    pub fn examples(&self) -> Vec<Vec<u8>> {
        (self.examples)()
    }
}

macro_rules! targets {
    ($($module:ident: $($name:ident)*;)*) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[$($(Target {
            name: stringify!($name),
            parse: $module::$name::parse,
            examples: $module::$name::examples,
        }),*),*];
    };
}

targets! {
    files: known manifest name plan trace tree;
    texts: cluster_file node_list ready_line target topology_file;
    wires: channel digests fabric_answer frame from_agent greeting preamble to_agent;
}

/// Returns the target of this name.
///
/// # Panics
/// Panics if there is none.
#[must_use]
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    *found.unwrap_or_else(|| panic!("there is no fuzz target {name}"))
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn bytes_of(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
