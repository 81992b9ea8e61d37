//! The machines of a farm run. [`FarmHead`] decides for Garland's own engine: which nodes take
//! part, and, with its [`Dispatcher`], which node gets which job, and when; [`Batch`] decides which
//! files are copied together. [`Rounds`] decides for engines that choose nodes themselves: which
//! jobs are tried again, and which nodes are avoided. `moves` decides which running jobs move to
//! another node.

mod batch;
mod clock;
mod dispatcher;
mod head;
mod moves;
mod nodes;
mod readiness;
mod rounds;
mod running;
mod tasks;
mod time_limits;
mod transfer;
mod tried;
mod tries;
mod work;

pub use batch::{Batch, copies};
pub use dispatcher::{Dispatcher, Rules, Step};
pub use head::{FarmHead, FarmHeadOrder, FarmNews, FarmWork};
pub use readiness::FarmNode;
pub use rounds::{Round, Rounds};
pub use transfer::{Direction, Transfer, TransferFailure};
pub use tried::Try;
pub use tries::Tries;
