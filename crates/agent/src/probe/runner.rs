//! A meeting at one agent: a thread that connects, measures, and sends its findings.

use std::sync::Arc;
use std::time::Duration;

use garland_protocol::FromAgent;
use garland_protocol::copy::CopyId;
use garland_protocol::measure::{Complaint, Meeting, Task};
use garland_sys::pinning;
use garland_sys::program::Program;
use garland_sys::threads::Joined;

use super::error::ProbeError;
use super::guest::Invitation;
use super::meeting_state::MeetingState;
use super::{SILENCE, dialing, ping, stream};
use crate::agent::Agent;
use crate::controller::Controller;
use crate::error::cannot;
use crate::expected::Expected;

/// The maximum number of meetings that one controller may have at one agent at a time.
const MAX_MEETINGS: usize = 32;

/// A meeting in progress.
pub struct Running {
    state: Arc<MeetingState>,
    thread: Joined,
}

impl Running {
    /// Begins a meeting that `session` ordered, unless too many are `running` already. A meeting
    /// that cannot begin is reported as ended. `helper` is the program `garland-fabric`, if the
    /// head has sent it.
    pub fn begin(
        controller: &Controller,
        meeting: Meeting,
        helper: Option<Arc<Program>>,
        running: &mut Vec<Self>,
    ) {
        running.retain(|other| !other.thread.is_finished());
        let refused = match meeting.check() {
            Ok(()) if running.len() >= MAX_MEETINGS => Some(format!(
                "too many meetings: an agent allows one controller at most {MAX_MEETINGS} at a time"
            )),
            checked => checked.err(),
        };
        let id = meeting.id;
        let failed =
            move |reason| FromAgent::ProbeEnded(id, Some(Complaint { reason, left_alone: false }));
        if let Some(reason) = refused {
            return controller.session.send(&failed(reason));
        }
        let limit = Duration::from_millis(u64::from(meeting.limit_ms));
        let state = Arc::new(MeetingState::new(id, limit, &controller.session, helper));
        // Add the invitation before the next order is read: the guest may connect at any time.
        let invitation = meeting.dial.is_none().then(|| {
            let invitation = Arc::new(Invitation::new(meeting.secret.clone(), meeting.streams));
            let expected = Expected::Guest(Arc::clone(&invitation));
            controller.agent.expected.add(id, expected).map(|expectation| (invitation, expectation))
        });
        let invitation = match invitation.transpose() {
            Ok(invitation) => invitation,
            Err(error) => return controller.session.send(&failed(error.to_string())),
        };
        let inside = Arc::clone(&state);
        let work = move |Controller { agent, session }: &Controller| {
            let guest = invitation.as_ref().map(|(guest, _)| guest.as_ref());
            let ended = hold(&inside, agent, &meeting, guest);
            drop(invitation);
            let left_alone = inside.is_alone();
            let complaint =
                ended.err().map(|error| Complaint { reason: error.to_string(), left_alone });
            // Report the reason to the head before the other agent detects that this one has left.
            session.send(&FromAgent::ProbeEnded(id, complaint));
            inside.close();
        };
        if let Some(thread) = controller.spawn("meeting", work, failed) {
            running.push(Self { state, thread: thread.into() });
        }
    }

    /// Ends the meeting `id`, if it is among those that are `running`.
    pub fn end_one(running: &mut Vec<Self>, id: CopyId) {
        running.extract_if(.., |meeting| meeting.state.id == id).for_each(Self::end);
    }

    /// Ends the meeting, and waits for its thread.
    pub fn end(self) {
        self.state.end();
    }
}

/// Connects to the other agent or waits for its connections, moves the thread to the CPU that the
/// meeting demands, if any, and measures.
fn hold(
    state: &MeetingState,
    agent: &Agent,
    meeting: &Meeting,
    invitation: Option<&Invitation>,
) -> Result<(), ProbeError> {
    let streams = match (meeting.dial, invitation) {
        (Some(address), _) => (0..meeting.streams)
            .map(|number| dialing::dial(address, meeting, number, agent.config.transport))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("cannot connect to the other agent at {address}: {error}"))?,
        (None, Some(invitation)) => invitation.all(SILENCE).map_err(|_| {
            format!("timed out after {SILENCE:?} waiting for the other agent to connect")
        })?,
        (None, None) => return Err("protocol error: a meeting needs another agent".into()),
    };
    state.keep(&streams)?;
    if let Some(cpu) = meeting.pin {
        pinning::stay_on(usize::from(cpu)).map_err(cannot(format!("run on CPU {cpu}")))?;
    }
    match &meeting.task {
        Task::Ping(task) => ping::take_part(state, task, meeting.dial.is_some(), &streams),
        Task::Stream(task) => stream::take_part(state, task, meeting.dial.is_some(), &streams),
    }
}
