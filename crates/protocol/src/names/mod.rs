//! Names: records and manifests, the nodes that are members, and the keys of records.

mod cluster;
mod record;
mod record_key;

pub use cluster::{CLUSTER_NODES_MAX, ClusterAgent, ClusterKey, Roster};
pub use record::{
    HOLDERS_MAX, HolderKind, LEASE_NS, MANIFEST_PIECE_MAX, NAME_MANIFEST_MAX, NAMED_FILES_MAX,
    NAMED_MODE, NAMES_MAX, NAMES_MEMORY_MAX, NameEntry, NameHolder, NameManifest, NameRecord,
    NamedContent, NamedFile, NamesEvent, NamesOrder, RECORD_AHEAD_MAX_NS, check_name,
};
pub use record_key::RecordKey;
