//! The protocol: fixed-size frames on the links of the chain, sealed blocks, messages on the
//! control channel, and the sans-io machines that decide. A machine takes events and returns
//! orders; it has no payload, never blocks, and never reads a clock or makes random values.
//!
//! The machines of a copy are [`Head`], [`Relay`] and [`Sink`]; that of a farm is in [`dispatch`];
//! those of all other operations on agents are in [`operation`].

#![forbid(unsafe_code)]

mod absence;
mod agreement;
mod balance;
mod begin;
mod bounds;
mod channel;
mod cluster;
mod compare;
mod copy_id;
mod curve25519;
mod cut;
mod delivery;
mod digests;
mod disk;
pub mod dispatch;
mod examination;
mod fabric;
mod farm;
mod farm_access;
mod files;
mod fingerprint;
mod frame;
mod freshness;
mod greeting_rate;
mod head;
mod hello;
mod injection;
mod keys;
mod known;
mod line;
mod link_secret;
mod message;
mod names;
pub mod operation;
pub mod placement;
mod probe;
mod read_back;
mod ready_line;
mod record_key;
mod relay;
mod report;
mod retirement;
mod role;
mod route;
mod seal;
mod shown_key;
mod sink;
mod stat;
mod stream;
mod survey;
mod version;
mod view;

pub use absence::{ABSENCE_MAX, Absence, AbsenceList, Absent};
pub use agreement::{Agreement, GreetingStamp, Mac};
pub use balance::{BALANCE_SIZES, BalanceEvent, BalanceOrder, FeedEvent, NodeUse};
pub use begin::{
    BUFFERS_MAX, Begin, Destination, End, FILES_MAX, FileTarget, KeptStatus, Origin, TRACE_MAX,
    TreeDestination, TreeLimits,
};
pub use channel::{Channel, Handshake, KEY_LEN, KeyPair, PublicKey, Side, fingerprint};
pub use cluster::{CLUSTER_NODES_MAX, ClusterAgent, ClusterKey, Roster};
pub use compare::{
    BITMAP_MAX, CATALOGUE_MAX, Compare, CompareBy, CompareOrder, Compared, DIGESTS_MAX, SharedPart,
    StatusRule, TimeWindow, TreeOutline,
};
pub use copy_id::CopyId;
pub use curve25519::exchanges_of_thread;
pub use cut::{Cut, Operations};
pub use delivery::{Delivered, Delivery, OutOfOrder, SessionId, SessionOrder};
pub use digests::{
    DigestError, DigestKey, DigestWindows, SignedDigests, SignedEnd, StreamEnd, WINDOW_BYTES_MAX,
    WINDOW_MAX,
};
pub use disk::{
    DISK_DEPTH_MAX, DISK_SIZES, DiskCached, DiskDirection, DiskEvent, DiskFigures, DiskJob,
    DiskMode, DiskOnly, DiskOrder, DiskPattern, DiskPlace, DiskTimes,
};
pub use examination::{Examination, PlaceFacts};
pub use fabric::{FabricWay, PROVIDER_MAX, check_provider};
pub use farm::{
    COMMAND_MAX, FarmEvent, FarmOrder, JOBS_AT_ONCE_MAX, NodeFacts, OUTPUT_FILES_MAX, OUTPUT_HALF,
    Opening, OutputFile, Task as FarmTask, TaskEnd,
};
pub use farm_access::{FarmAccess, FarmNode};
pub use files::{
    Answer, Ask, Attr, BULK_LINK, Changes, Entry, FILES_LINKS, FRAME_MAX, FileKind, FileRef,
    FileReply, FileRequest, FilesOrder, Hole, NewKind, OpenFlags, PIECE, Parts, SMALL_MAX, Space,
    Stamp, TimeSet, open_file_frame, seal_file_frame,
};
pub use fingerprint::Fingerprint;
pub use frame::{Encoding, FRAME_LEN, Frame, FrameError, Kind};
pub use freshness::{Freshness, Greetings, Recent};
pub use greeting_rate::{GreetingRate, GreetingTimes};
pub use head::{
    BadFrame, Fault, HEARTBEAT_NS, Head, HeadEvent, HeadOrder, Moments, NodeOutcome, NodeState,
    Policy, Slow, SlowNodes, Verdict,
};
pub use hello::{
    Claim, HANDSHAKE_MAX, Hello, HelloError, Mark, TICKET_LEN, controller_hello, member_hello,
    put_message,
};
pub use injection::{
    ClockFault, FORM as INJECTION_FORM, Injection, Stall, Wanted, parse_injection,
};
pub use keys::{Keys, Secret};
pub use known::{FileStamp, Known, KnownError};
pub use line::{ChannelError, FRAME_HEAD, Line, MAX_MESSAGE, Opener, length_behind};
pub use link_secret::{LinkMaster, link_id};
pub use message::{FromAgent, Message, ToAgent};
pub use names::{
    HOLDERS_MAX, HolderKind, LEASE_NS, MANIFEST_PIECE_MAX, NAME_MANIFEST_MAX, NAMED_FILES_MAX,
    NAMED_MODE, NAMES_MAX, NAMES_MEMORY_MAX, NameEntry, NameHolder, NameManifest, NameRecord,
    NamedContent, NamedFile, NamesEvent, NamesOrder, RECORD_AHEAD_MAX_NS, check_name,
};
pub use probe::{
    Complaint, Finding, Meeting, PING_DEPTH_MAX, PING_POINTS_MAX, PING_SIZE_MAX, PROBE_LIMIT,
    PingKind, PingPoint, PingSample, PingTask, PingTransport, PingWait, STREAMS_MAX, Summary,
    TargetState, Task,
};
pub use read_back::{Checksum, ReadBack, Summed, Summing};
pub use ready_line::ReadyLine;
pub use record_key::RecordKey;
pub use relay::{RESUME_WITHIN_NS, Relay, RelayEvent, RelayOrder, Store, WireFacts};
pub use report::{DiskCall, HopReport, LaneReport, PendingCall, Report, Stage, StageDepth};
pub use retirement::{RetireReply, RetireRequest};
pub use role::{
    Admitted, AskKind, Budget, Grant, OrderKind, Refused, Role, budget_table, table as role_table,
};
pub use route::{DOWNSTREAMS_MAX, Downstream, LinkSecret, LinkSide, NodeAddress, Route};
pub use seal::{ContentHasher, SealError, Sealer, TAG_LEN, content_digest, root_digest};
pub use shown_key::{CHALLENGE_LEN, KeyChallenge, ShownKey};
pub use sink::{Landing, Sink, SinkError};
pub use stat::{MANIFEST_MAX, SIGHTS_MAX, StatReply, StatRequest, TreeStat, TreeStatRequest};
pub use stream::{PACKETS, RxStats, StreamTask, TxStats, WRITE_MAX};
pub use survey::{MtuProbe, SurveyAnswer, SurveyOrder, Token};
pub use version::{PREAMBLE_LEN, PROTOCOL, Preamble, Purpose, VersionError, claim, spoken};
pub use view::{
    ACCOUNT_MAX, Account, CopyView, DiskCounts, JobView, KernelCounts, LaneView, NAME_MAX,
    NicCounts, NodeView, Waits,
};
