//! Measurements: of wires, disks and both at once, and what a node is doing.

mod balance;
mod disk;
mod fabric;
mod probe;
mod stream;
mod survey;
mod view;

pub use balance::{BALANCE_SIZES, BalanceEvent, BalanceOrder, FeedEvent, NodeUse};
pub use disk::{
    DISK_DEPTH_MAX, DISK_SIZES, DiskCached, DiskDirection, DiskEvent, DiskFigures, DiskJob,
    DiskMode, DiskOnly, DiskOrder, DiskPattern, DiskPlace, DiskTimes,
};
pub use fabric::{
    FabricWay, LibraryVersion, OneSidedTry, PROVIDER_MAX, SleepingSides, check_provider,
};
pub use probe::{
    Complaint, Finding, Meeting, PING_DEPTH_MAX, PING_POINTS_MAX, PING_SIZE_MAX, PROBE_LIMIT,
    PingKind, PingPoint, PingSample, PingTask, PingTransport, PingWait, STREAMS_MAX, Summary,
    TargetState, Task,
};
pub use stream::{PACKETS, RxStats, StreamTask, TxStats, WRITE_MAX};
pub use survey::{MtuProbe, SurveyAnswer, SurveyOrder, Token};
pub use view::{
    ACCOUNT_MAX, Account, CopyView, DiskCounts, JobView, KernelCounts, LaneView, NAME_MAX,
    NicCounts, NodeView, Waits,
};
