//! A spike: the drivers of a copy of one plain file to one node, as state machines without threads
//! and without blocking calls. [`real`] runs them on sockets and files, [`sim`] in virtual time.

pub mod buffers;
pub mod head;
pub mod io;
pub mod node;
pub mod real;

pub mod sim;
pub mod stage;
pub mod stream;
