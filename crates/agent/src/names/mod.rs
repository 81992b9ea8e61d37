//! The names for content that an agent keeps for controllers and members.

mod fetchers;
mod service;
mod store;

pub use fetchers::Fetchers;
pub use service::NamesService;
pub use store::write;
