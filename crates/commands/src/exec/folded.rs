//! Equal outputs of nodes, printed once when all have ended.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;

use garland_core::cluster::nodelist;
use garland_terminal::streams::{Kept, Lines};

/// Placeholder for a node's own name when outputs are compared.
const OWN_NAME: &str = "<node>";

/// The longest output that is compared, in bytes; the lines of longer ones are printed as they
/// come.
const FOLDED_MAX: usize = 1 << 20;

/// The outputs of all nodes.
pub struct Folded {
    names: Vec<String>,
    folder: PathBuf,
    /// The standard output and the standard error of each node.
    outputs: Vec<[Output; 2]>,
}

/// An output of a node: kept, or too long and printed.
enum Output {
    Kept(Kept),
    Printed(Lines),
}

impl Default for Output {
    fn default() -> Self {
        Self::Kept(Kept::default())
    }
}

impl Folded {
    /// Creates the empty outputs of nodes. Large ones are kept in files in `folder`.
    pub fn new(names: &[String], folder: PathBuf) -> Self {
        let outputs = names.iter().map(|_| [Output::default(), Output::default()]).collect();
        Self { names: names.to_vec(), folder, outputs }
    }

    /// Adds bytes to an output of the node with this index.
    pub fn add(&mut self, at: usize, is_error: bool, bytes: &[u8]) -> io::Result<()> {
        let output = &mut self.outputs[at][usize::from(is_error)];
        match output {
            Output::Printed(lines) => _ = lines.add(bytes)?,
            Output::Kept(kept) => {
                // Nodes are few: each may have its share in memory.
                kept.add(&self.folder, bytes, usize::MAX)?;
                if kept.length() > FOLDED_MAX {
                    let mut lines = Lines::new(&format!("{}: ", self.names[at]), is_error);
                    kept.read(|bytes| lines.add(bytes).map(drop))?;
                    *output = Output::Printed(lines);
                }
            }
        }
        Ok(())
    }
    /// Prints each distinct output once, after the names of all nodes that have it and in the order
    /// of the first of them: those on standard error, then those on standard output.
    pub fn print(&mut self) -> io::Result<()> {
        for part in [1, 0] {
            for group in self.groups(part)? {
                let names: Vec<&str> = group.iter().map(|&at| self.names[at].as_str()).collect();
                let Output::Kept(kept) = &mut self.outputs[group[0]][part] else { continue };
                let mut text = whole(kept)?;
                // The output of a single node is printed as it is.
                if group.len() > 1 {
                    text = without_name(&text, names[0]);
                }
                let mut lines = Lines::new(&format!("{}: ", nodelist::fold(&names)), part == 1);
                lines.add(&text)?;
                lines.end()?;
            }
        }
        Ok(())
    }

    /// Returns the nodes with each distinct output; prints the rest of those that were too long.
    /// Only one output is in memory at a time.
    fn groups(&mut self, part: usize) -> io::Result<Vec<Vec<usize>>> {
        // The keys of these hashes are random: no node can make another output with an equal hash.
        let hashers = [RandomState::new(), RandomState::new()];
        let (mut groups, mut known): (Vec<Vec<usize>>, _) = (Vec::new(), HashMap::new());
        for (at, (name, outputs)) in self.names.iter().zip(&mut self.outputs).enumerate() {
            match &mut outputs[part] {
                Output::Printed(lines) => lines.end()?,
                Output::Kept(kept) if kept.length() > 0 => {
                    let text = without_name(&whole(kept)?, name);
                    let hash = hashers.each_ref().map(|hasher| hasher.hash_one(&text));
                    let group = *known.entry(hash).or_insert(groups.len());
                    groups.resize_with(groups.len().max(group + 1), Vec::new);
                    groups[group].push(at);
                }
                Output::Kept(_) => {}
            }
        }
        Ok(groups)
    }
}

/// Returns a kept output.
fn whole(kept: &mut Kept) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(kept.length());
    kept.read(|bytes| {
        text.extend(bytes);
        Ok(())
    })?;
    Ok(text)
}

/// Returns `output` with the node's own name replaced by [`OWN_NAME`], so that outputs that differ
/// only in the name compare equal.
fn without_name(output: &[u8], name: &str) -> Vec<u8> {
    replace(output, own_name(name).as_bytes(), OWN_NAME.as_bytes())
}

/// Returns the host name in a node's name: the part after a launcher's prefix and a user's name.
fn own_name(name: &str) -> &str {
    name.rsplit([':', '@']).next().unwrap_or(name)
}

/// Returns `text` with `from` replaced by `to` where `from` is a whole word.
fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut result = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        if rest.starts_with(from) && !is_word(before) && !is_word(rest.get(from.len())) {
            result.extend(to);
            at += from.len();
        } else {
            result.push(rest[0]);
            at += 1;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_own_name_folds() {
        assert_eq!(without_name(b"n3\n", "lab:n3"), b"<node>\n");
        assert_eq!(without_name(b"n30 xn3 n3.site\n", "n3"), b"n30 xn3 <node>.site\n");
    }
}
