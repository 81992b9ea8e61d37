//! Any bytes are a trace that is written the same again, a trace up to a cut, or an error; and any
//! bytes are a parcel of sound records, or none.
#![no_main]

use garland_core::trace::{Parcel, Record, Trace};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((trace, cut)) = Trace::decode(bytes) {
        assert!(trace.records.iter().all(Record::is_sound));
        if let Some(cut) = cut {
            assert_eq!(cut.at + cut.unread, bytes.len());
        }
        assert_eq!(Trace::decode(&trace.encode()), Ok((trace, None)));
    }
    if let Some(parcel) = Parcel::open(bytes) {
        assert!(parcel.records.iter().all(Record::is_sound));
    }
});
