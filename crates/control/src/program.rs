//! The program for nodes, as the head sends it and as nodes pass it on.

mod carried;
mod image;

pub use self::carried::{Carried, carry, for_nodes};
pub use self::image::Image;
