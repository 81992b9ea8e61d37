//! Plans of copies. A plan says which bytes travel on which route, and nothing else; agents, lab
//! and simulator execute the same plan.

mod broadcast;
mod lane;
mod layout;
mod manifest;
mod node_id;
mod order;
mod route;
mod shape;
mod stripe_set;
mod stripes;
mod threads;

pub use broadcast::{LANES_MAX, Plan, PlanError, PlannedNode};
pub use lane::{Lane, LaneBlocks};
pub use layout::{BLOCKS_MAX, DEFAULT_BLOCK_SIZE, Layout, LayoutError};
pub use manifest::{Manifest, ManifestError, StripeServer};
pub use node_id::{HEAD, NodeId};
pub use order::{Order, OrderError, Rates, chain_order};
pub use route::{Route, RouteError};
pub use shape::{Pace, RouteShape, Shape};
pub use stripe_set::{ASIDE, FoundStripe, ShownSet, StripeSet, StripeSetError};
pub use stripes::{STRIPE_SERVERS_MAX, Stripe, Stripes, StripesError};
pub use threads::{readers_of_lane, writer_count};
