//! Field numbers of Perfetto's published schema, by message: `protos/perfetto/trace/trace.proto`,
//! `trace_packet.proto`, `interned_data/interned_data.proto` and `track_event/*.proto` of
//! <https://github.com/google/perfetto>. The tests decode an export with the schema in the PyPI package
//! `perfetto`.

/// `Trace.packet`.
pub(super) const TRACE_PACKET: u32 = 1;

/// `TracePacket`.
pub(super) mod packet {
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    pub(crate) const FIRST_PACKET_ON_SEQUENCE: u32 = 87;

    /// `SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED`.
    pub(crate) const STATE_CLEARED: u64 = 1;
    /// `SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE`.
    pub(crate) const NEEDS_STATE: u64 = 2;
}

/// `InternedData`.
pub(super) mod interned {
    pub(crate) const EVENT_CATEGORIES: u32 = 1;
    pub(crate) const EVENT_NAMES: u32 = 2;
    pub(crate) const DEBUG_ANNOTATION_NAMES: u32 = 3;

    /// The field `iid` of `EventCategory`, `EventName` and `DebugAnnotationName`.
    pub(crate) const IID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
}

/// `TrackDescriptor`.
pub(super) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT_UUID: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
}

/// `ProcessDescriptor`.
pub(super) mod process {
    pub(crate) const PID: u32 = 1;
    pub(crate) const LEGACY_SORT_INDEX: u32 = 3;
    pub(crate) const PROCESS_NAME: u32 = 6;
    pub(crate) const PROCESS_LABELS: u32 = 8;
}

/// `ThreadDescriptor`.
pub(super) mod thread {
    pub(crate) const PID: u32 = 1;
    pub(crate) const TID: u32 = 2;
    pub(crate) const THREAD_NAME: u32 = 5;
}

/// `CounterDescriptor`.
pub(super) mod counter {
    pub(crate) const UNIT: u32 = 3;
    pub(crate) const UNIT_NAME: u32 = 6;

    /// `Unit.UNIT_TIME_NS`.
    pub(crate) const TIME_NS: u64 = 1;
    /// `Unit.UNIT_COUNT`.
    pub(crate) const COUNT: u64 = 2;
    /// `Unit.UNIT_SIZE_BYTES`.
    pub(crate) const SIZE_BYTES: u64 = 3;
}

/// `TrackEvent`.
pub(super) mod event {
    pub(crate) const CATEGORY_IIDS: u32 = 3;
    pub(crate) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const TRACK_UUID: u32 = 11;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const FLOW_IDS: u32 = 47;
    pub(crate) const TERMINATING_FLOW_IDS: u32 = 48;

    /// `Type.TYPE_SLICE_BEGIN`.
    pub(crate) const SLICE_BEGIN: u64 = 1;
    /// `Type.TYPE_SLICE_END`.
    pub(crate) const SLICE_END: u64 = 2;
    /// `Type.TYPE_INSTANT`.
    pub(crate) const INSTANT: u64 = 3;
    /// `Type.TYPE_COUNTER`.
    pub(crate) const COUNTER: u64 = 4;
}

/// `DebugAnnotation`.
pub(super) mod annotation {
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const UINT_VALUE: u32 = 3;
    pub(crate) const STRING_VALUE: u32 = 6;
}
