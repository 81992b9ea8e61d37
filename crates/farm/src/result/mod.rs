//! What a farm's run came to: the object `garland.farm/1`, from the records that every engine gives
//! alike.

mod account;
mod node;
mod power;
mod report;
mod summary;
mod table;
mod traffic;
mod value;
mod words;

pub use account::{Farmed, RunConditions};
pub use node::NodeAccount;
pub use power::Unit;
pub use report::FarmReport;
pub use summary::{Failed, Jobs, OneMachine, Summary};
pub use traffic::{NicTraffic, Traffic};
pub use value::{FarmResult, SCHEMA};
pub use words::took;
