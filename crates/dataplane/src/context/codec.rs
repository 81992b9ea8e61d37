//! What turns the bytes of blocks into what travels, and back.

use std::sync::Arc;

use garland_protocol::copy::Keys;

use crate::compress::{PackingPace, Zeros};

/// The keys and the compression of a copy's blocks on one node.
pub struct Codec {
    /// The keys to authenticate frames and to encrypt blocks.
    pub keys: Arc<Keys>,
    /// Chooses the compression of blocks that are read here.
    pub packing: PackingPace,
    /// Computes and caches the digests of blocks of zeros.
    pub zeros: Zeros,
}
