//! Notes for the user about the agents of nodes.

use garland_core::cluster::Node;
use garland_sys::sync::Mutex;
use garland_terminal::output;
use garland_terminal::verdicts::folded;

/// Texts about nodes.
#[derive(Default)]
pub(super) struct Notes(Mutex<Vec<Note>>);

/// A word, the text that follows it, and the node.
type Note = (&'static str, String, String);

impl Notes {
    /// Adds a text; `word` precedes it and the node.
    pub(super) fn add(&self, node: &Node, word: &'static str, text: String) {
        self.0.lock().push((word, text, node.name.clone()));
    }

    /// Prints the notes, one line for all nodes with the same one.
    pub(super) fn print(&self) {
        let notes = self.0.lock();
        output::warn(folded(
            notes.iter().map(|(word, text, name)| (*word, Some(text.as_str()), name.as_str())),
        ));
    }
}
