//! Measures small gets, puts and messages between two agents. A point is measured in rounds, which
//! the initiator announces. After each round, the initiator decides whether the result is precise
//! enough.

mod burner;
pub mod fabric;
mod flow;
mod mapped;
mod memory;
mod point;
mod round;
mod tally;
mod transport;
mod wire;

use garland_protocol::measure::{Finding, PingTask, PingTransport, TargetState};
use garland_sys::socket::TcpStream;

use crate::conditions;
use crate::error::cannot;
use crate::probe::error::ProbeError;
use crate::probe::meeting_state::MeetingState;
use burner::Burner;
use round::Order;
use transport::ProbeTransport;

/// Measures all points of `task` if this side `initiates`, or else serves them as the target.
pub fn take_part(
    meeting: &MeetingState,
    task: &PingTask,
    initiates: bool,
    streams: &[TcpStream],
) -> Result<(), ProbeError> {
    let [stream] = streams else {
        return Err("protocol error: a ping must have exactly one connection".into());
    };
    meeting.found(Finding::Conditions(conditions::of(stream)));
    let watch = conditions::Watch::begin();
    let polls = match initiates {
        true => task.wait == garland_protocol::measure::PingWait::Poll,
        false => task.target == TargetState::Idle,
    };
    let mut transport: Box<dyn ProbeTransport> = match task.means {
        PingTransport::Tcp => Box::new(wire::Wire::new(meeting, stream, polls)),
        PingTransport::Shm => Box::new(mapped::Mapped::meet(meeting, task, initiates, stream)?),
        PingTransport::Fabric => Box::new(fabric::Fabric::meet(meeting, task, initiates, stream)?),
    };
    if initiates {
        meeting.found(Finding::Timer(point::timer_ns()));
        for (number, ping) in (0..).zip(&task.points) {
            let took = point::measure(meeting, number, ping, stream, &mut *transport)?;
            meeting.found(Finding::Ping(took));
        }
        Order::END.send(stream)?;
        watch.end().into_iter().for_each(|set| meeting.found(Finding::Conditions(vec![set])));
        return Ok(());
    }
    let _burner = (task.target == TargetState::Busy)
        .then(Burner::start)
        .transpose()
        .map_err(cannot("load the CPUs"))?;
    while let Some(order) = Order::receive(meeting, stream)? {
        let work_ns = transport.serve(&order)?;
        round::send_receipt(stream, work_ns)?;
    }
    Ok(())
}
