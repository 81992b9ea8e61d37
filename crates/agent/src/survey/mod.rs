//! Surveys of the network by order of the head: the NICs of a node, the nodes that each NIC
//! reaches, and the size of packets that pass.

mod mtu;
mod nics;
mod probe;
mod probing;
mod rate;
mod responder;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use garland_core::cluster::listen::ListenAt;
use garland_protocol::FromAgent;
use garland_protocol::measure::{SurveyAnswer, SurveyOrder};
use garland_sys::error::reason;
use garland_sys::sync::Mutex;
use garland_sys::threads::Joined;

use crate::controller::Controller;
use crate::listening::named;
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
            let listen = &controller.agent.config.listen;
            let outcome = answer(order, listen, &responder).map(FromAgent::Surveyed);
            controller.session.send(&outcome.unwrap_or_else(|error| failed(reason(&error))));
        };
        self.working = self.controller.spawn("survey", work, failed).map(Joined::from);
    }
}

fn answer(
    order: SurveyOrder,
    listen: &[ListenAt],
    responder: &Mutex<Option<Responder>>,
) -> io::Result<SurveyAnswer> {
    let mut responder = responder.lock();
    match order {
        SurveyOrder::Open(asked) => {
            let permitted = named(listen).map_err(io::Error::other)?;
            let may = |address: &Ipv4Addr| listen.is_empty() || permits(&permitted, *address);
            let (at, withheld): (Vec<_>, Vec<_>) = asked.into_iter().partition(may);
            let opened = Responder::open(&at)?;
            let (udp, tcp) = opened.ports;
            *responder = Some(opened);
            Ok(SurveyAnswer::Open { nics: nics::facts()?, udp, tcp, withheld })
        }
        SurveyOrder::Frames(token, node) => probing::frames(token, node),
        SurveyOrder::Datagrams(token, node, port) => probing::datagrams(token, node, port),
        SurveyOrder::Mtu(probes) => mtu::find(&probes).map(SurveyAnswer::Mtu),
        SurveyOrder::Rate { nic, to, millis } => rate::send(&nic, to, millis),
        SurveyOrder::Burst { to, number, count } => {
            responder::burst(to, number, count).map(SurveyAnswer::Sent)
        }
        SurveyOrder::Counts(number) => {
            let arrived = responder.as_ref().map_or(0, |responder| responder.take(number));
            Ok(SurveyAnswer::Counts(nics::sent()?, arrived))
        }
    }
}

/// Returns whether an agent whose user permits these addresses may listen at this one.
fn permits(permitted: &[IpAddr], address: Ipv4Addr) -> bool {
    permitted.iter().any(|it| it.is_unspecified() || *it == IpAddr::V4(address))
}
