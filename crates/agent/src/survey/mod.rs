//! Surveys of the network by order of the head: the NICs of a node, the nodes that each NIC
//! reaches, and the size of packets that pass.

mod mtu;
mod nics;
mod probe;
mod probing;
mod rate;
mod responder;

use std::io;
use std::sync::Arc;

use garland_protocol::{FromAgent, SurveyAnswer, SurveyOrder};
use garland_sys::sync::Mutex;

use crate::controller::Controller;
use garland_sys::error::reason;
use garland_sys::threads::Joined;
use responder::Responder;

/// The surveys of one controller. Dropping this ends them.
pub struct Surveyor {
    controller: Controller,
    responder: Arc<Mutex<Option<Responder>>>,
    working: Option<Joined>,
}

impl Surveyor {
    /// Creates a surveyor for `controller`.
    pub fn new(controller: &Controller) -> Self {
        Self { controller: controller.clone(), responder: Arc::default(), working: None }
    }

    /// Executes an order in a thread, which sends the answer to the controller. Waits for the
    /// previous order first; each takes a bounded time.
    pub fn obey(&mut self, order: SurveyOrder) {
        self.working = None;
        let responder = Arc::clone(&self.responder);
        let failed = |reason| FromAgent::Surveyed(SurveyAnswer::Failed(reason));
        let work = move |controller: &Controller| {
            let answer = answer(order, &responder).map(FromAgent::Surveyed);
            controller.session.send(&answer.unwrap_or_else(|error| failed(reason(&error))));
        };
        self.working = self.controller.spawn("survey", work, failed).map(Joined::from);
    }
}

fn answer(order: SurveyOrder, responder: &Mutex<Option<Responder>>) -> io::Result<SurveyAnswer> {
    let mut responder = responder.lock();
    match order {
        SurveyOrder::Open => {
            let opened = Responder::open()?;
            let (udp, tcp) = opened.ports;
            *responder = Some(opened);
            Ok(SurveyAnswer::Open(nics::facts()?, udp, tcp))
        }
        SurveyOrder::Frames(token, node) => probing::frames(token, node),
        SurveyOrder::Datagrams(token, node, port) => probing::datagrams(token, node, port),
        SurveyOrder::Mtu(probes) => mtu::find(&probes).map(SurveyAnswer::Mtu),
        SurveyOrder::Rate { nic, to, millis } => rate::send(&nic, to, millis),
        SurveyOrder::Burst { to, number, count } => {
            responder::burst(to, number, count).map(SurveyAnswer::Sent)
        }
        SurveyOrder::Counts(number) => {
            let arrived = responder.as_mut().map_or(0, |responder| responder.take(number));
            Ok(SurveyAnswer::Counts(nics::sent()?, arrived))
        }
    }
}
