//! What is read of a `garland.farm/1`.

use serde::Deserialize;

use crate::command::farm_result::Summary;

/// A farm's run.
#[derive(Deserialize)]
pub struct Told {
    /// The name of its run.
    pub run: String,
    /// What it came to.
    #[serde(flatten)]
    pub summary: Summary,
}
