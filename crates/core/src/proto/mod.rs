//! The protocol: fixed frames on the links of the chain, sealed blocks, messages on the control
//! channel, and the machines that decide. A machine is fed inputs and asked for orders; it never
//! holds payload, waits, or fails on time by itself.

mod channel;
mod disk;
mod frame;
mod head;
mod message;
mod probe;
mod relay;
mod seal;
mod sink;
mod stream;
mod survey;
mod version;

pub use channel::{
    Channel, ChannelError, Handshake, KEY_LEN, KeyPair, MAX_MESSAGE, PublicKey, Role,
};
pub use disk::{
    DISK_DEPTH_MAX, DISK_SIZES, DiskCached, DiskDirection, DiskEvent, DiskFigures, DiskJob,
    DiskOnly, DiskOrder, DiskPattern, DiskPlace, DiskTimes, DiskWay,
};
pub use frame::{Copy, FRAME_LEN, Frame, FrameError, Kind};
pub use head::{BadFrame, Fault, Head, HeadEvent, HeadOrder, NodeState, Policy, Verdict};
pub use message::{
    Begin, Destination, FromAgent, LaneReport, LinkSide, NodeAddress, Report, Route, ToAgent,
};
pub use probe::{
    Finding, Meeting, PING_DEPTH_MAX, PING_POINTS_MAX, PING_SIZE_MAX, PROBE_LIMIT, PingKind,
    PingMeans, PingPoint, PingTask, PingTook, PingWait, STREAMS_MAX, Summary, TargetState, Task,
};
pub use relay::{Relay, RelayEvent, RelayOrder, Store};
pub use seal::{
    Keys, SealError, Sealer, Secret, TAG_LEN, content_check, content_digest, root_digest,
};
pub use sink::{Landing, Sink, SinkError};
pub use stream::{StreamCame, StreamTask, StreamWent, WRITE_MAX};
pub use survey::{MtuProbe, SurveyAnswer, SurveyOrder, Token};
pub use version::{PREAMBLE_LEN, PROTOCOL, Preamble, Purpose, VersionError};
