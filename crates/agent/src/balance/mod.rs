//! The agent's side of the balance test: copies between the disks of pairs of nodes, or within a
//! node, all at the same time.
//!
//! Every copy is an ordinary copy of one hop. The node that has the file feeds the copy, and has
//! index 0 in the plan. The head makes all decisions, and sends them over the control channels.

mod feeding;
mod file;
mod service;

pub use service::BalanceService;
