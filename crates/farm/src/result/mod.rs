//! The result of a farm run, `garland.farm/2`, computed from the records of any engine.

mod account;
mod brief;
mod node;
mod power;
mod summary;
mod table;
mod traffic;
mod value;
mod words;

pub use account::{Farmed, RunConditions};
pub use brief::Brief;
pub use node::NodeAccount;
pub use power::Unit;
pub use summary::{Failed, Jobs, OneMachine, Summary};
pub use traffic::{NicTraffic, Traffic};
pub use value::{FarmResult, SCHEMA};
pub use words::took;
