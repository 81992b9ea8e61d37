//! The names for content that an agent keeps for controllers and members.

mod service;
mod store;

pub use service::NamesService;
pub use store::write;
