//! Copies: what begins one, what goes over its links, and the machines [`Head`], [`Relay`] and
//! [`Sink`].

mod absence;
mod begin;
mod compare;
mod copy_id;
mod cut;
mod digest_table;
mod digests;
mod examination;
mod fingerprint;
mod frame;
mod head;
mod injection;
mod keys;
mod known;
mod link_limit;
mod link_secret;
mod read_back;
mod relay;
mod report;
mod route;
mod seal;
mod sink;
mod stat;

pub use absence::{ABSENCE_MAX, Absence, AbsenceList, Absent};
pub use begin::{
    BUFFERS_MAX, Begin, Destination, End, FILES_MAX, FileTarget, KeptStatus, Origin, SweptMounts,
    TRACE_MAX, TreeDestination, TreeLimits,
};
pub use compare::{
    BITMAP_MAX, CATALOGUE_MAX, Compare, CompareBy, CompareOrder, Compared, DIGESTS_MAX,
    SURPLUS_MAX, SharedPart, StatusRule, TimeWindow, TreeOutline, path_memory,
};
pub use copy_id::CopyId;
pub use cut::{Cut, Operations};
pub use digests::{
    DigestError, DigestKey, DigestWindows, SignedDigests, SignedEnd, StreamEnd, WINDOW_BYTES_MAX,
    WINDOW_MAX,
};
pub use examination::{Examination, PlaceFacts};
pub use fingerprint::Fingerprint;
pub use frame::{Encoding, FRAME_LEN, Frame, FrameError, Kind};
pub use head::{
    BadFrame, Fault, HEARTBEAT_NS, Head, HeadEvent, HeadOrder, Moments, NodeOutcome, NodeState,
    Policy, Slow, SlowNodes, Verdict,
};
pub use injection::{
    ClockFault, FORM as INJECTION_FORM, Injection, Stall, Wanted, parse_injection,
};
pub use keys::Keys;
pub use known::{FileStamp, Known, KnownError};
pub use link_limit::advice_on_own_limit;
pub use link_secret::{LinkMaster, link_id};
pub use read_back::{Checksum, ReadBack, Summed, Summing};
pub use relay::{RESUME_WITHIN_NS, Relay, RelayEvent, RelayOrder, Store, Taking, WireFacts};
pub use report::{DiskCall, HopReport, LaneReport, PendingCall, Report, Stage, StageDepth};
pub use route::{DOWNSTREAMS_MAX, Downstream, LinkSecret, LinkSide, NodeAddress, Route};
pub use seal::{ContentHasher, SealError, Sealer, TAG_LEN, content_digest, root_digest};
pub use sink::{Landing, Sink, SinkError};
pub use stat::{MANIFEST_MAX, SIGHTS_MAX, StatReply, StatRequest, TreeStat, TreeStatRequest};
