//! Names for content: the list that this agent keeps for its controller, and what its node has.

mod service;
mod store;

pub use service::NamesService;
