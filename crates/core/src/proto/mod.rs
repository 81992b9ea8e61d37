//! The protocol: fixed frames on the links of the chain, sealed blocks, messages on the control
//! channel, and the machines that decide. A machine is fed inputs and asked for orders; it never
//! holds payload, waits, or fails on time by itself.

mod balance;
mod begin;
mod channel;
mod disk;
mod fabric;
mod frame;
mod head;
mod injection;
mod message;
mod operations;
mod probe;
mod relay;
mod report;
mod route;
mod seal;
mod sight;
mod sink;
mod stream;
mod survey;
mod version;

pub use balance::{BALANCE_SIZES, BalanceEvent, BalanceOrder, FeedEvent, NodeUse};
pub use begin::{BUFFERS_MAX, Begin, Destination, End, Origin, TRACE_MAX};
pub use channel::{
    Channel, ChannelError, Handshake, KEY_LEN, KeyPair, MAX_MESSAGE, PublicKey, Role,
};
pub use disk::{
    DISK_DEPTH_MAX, DISK_SIZES, DiskCached, DiskDirection, DiskEvent, DiskFigures, DiskJob,
    DiskOnly, DiskOrder, DiskPattern, DiskPlace, DiskTimes, DiskWay,
};
pub use fabric::{FabricWay, PROVIDER_MAX, check_provider};
pub use frame::{Copy, FRAME_LEN, Frame, FrameError, Kind};
pub use head::{BadFrame, Fault, Head, HeadEvent, HeadOrder, NodeState, Policy, Verdict};
pub use injection::{
    ClockFault, FORM as INJECTION_FORM, Injection, Stall, Wanted, parse_injection,
};
pub use message::{FromAgent, ToAgent};
pub use operations::{Cut, Operations};
pub use probe::{
    Complaint, Finding, Meeting, PING_DEPTH_MAX, PING_POINTS_MAX, PING_SIZE_MAX, PROBE_LIMIT,
    PingKind, PingMeans, PingPoint, PingTask, PingTook, PingWait, STREAMS_MAX, Summary,
    TargetState, Task,
};
pub use relay::{Relay, RelayEvent, RelayOrder, Store};
pub use report::{LaneReport, Report, Stage, StageDepth};
pub use route::{LinkSide, NodeAddress, Route};
pub use seal::{
    Keys, SealError, Sealer, Secret, TAG_LEN, content_check, content_digest, root_digest,
};
pub use sight::{Look, MANIFEST_MAX, SIGHTS_MAX, Sight};
pub use sink::{Landing, Sink, SinkError};
pub use stream::{PACKETS, StreamCame, StreamTask, StreamWent, WRITE_MAX};
pub use survey::{MtuProbe, SurveyAnswer, SurveyOrder, Token};
pub use version::{PREAMBLE_LEN, PROTOCOL, Preamble, Purpose, VersionError};
