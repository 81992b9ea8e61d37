//! The names for content that an agent keeps for controllers and members.

mod fetchers;
mod holdings;
mod service;
mod store;

pub use fetchers::Fetchers;
pub use holdings::{HeldBlock, Holdings};
pub use service::NamesService;
pub use store::NameStore;
