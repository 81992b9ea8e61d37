//! The agent's side of the balance test: a thread that executes the orders of one head in sequence.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_protocol::FromAgent;
use garland_protocol::measure::{BalanceEvent, BalanceOrder, FeedEvent, NodeUse};
use garland_sys::channel::{Receiver, Sender, channel};
use garland_sys::processors::Processors;
use garland_sys::{clock, pinning};

use super::feeding::Feeding;
use crate::agent::Agent;
use crate::balance::file::BalanceFile;
use crate::controller::Controller;
use crate::error::OrderError;

/// The balance tests that one head ordered. Dropping this value ends them without waiting, since a
/// disk that hangs must not keep the agent from serving its next head.
pub struct BalanceService {
    controller: Controller,
    stop: Arc<AtomicBool>,
    /// The queue of orders for the thread; `None` until the first order.
    orders: Option<Sender<BalanceOrder>>,
}

impl BalanceService {
    /// Creates a service without a test file.
    pub fn new(controller: &Controller) -> Self {
        Self { controller: controller.clone(), stop: Arc::default(), orders: None }
    }

    /// Queues an order. The first one starts the thread.
    pub fn obey(&mut self, order: BalanceOrder) {
        if self.orders.is_none() {
            let (orders, receiver) = channel();
            let controller = self.controller.clone();
            let stop = Arc::clone(&self.stop);
            let keeper =
                Keeper { controller, stop, stock: None, feedings: Vec::new(), since: None };
            let failed = |reason| FromAgent::Balance(BalanceEvent::Failed(reason));
            let thread = self.controller.spawn("balance", move |_| keeper.work(&receiver), failed);
            self.orders = thread.map(|_| orders);
        }
        if let Some(orders) = &self.orders {
            // Cannot fail: the thread runs until this value is dropped.
            let _ = orders.send(order);
        }
    }
}

impl Drop for BalanceService {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

struct Keeper {
    controller: Controller,
    stop: Arc<AtomicBool>,
    stock: Option<BalanceFile>,
    feedings: Vec<Feeding>,
    since: Option<Since>,
}

impl Keeper {
    fn work(mut self, orders: &Receiver<BalanceOrder>) {
        for order in orders.iter() {
            if let Err(error) = self.obey(order) {
                self.tell(BalanceEvent::Failed(error.to_string()));
            }
        }
        self.feedings.into_iter().for_each(Feeding::end);
    }

    fn tell(&self, event: BalanceEvent) {
        self.controller.session.send(&FromAgent::Balance(event));
    }

    fn obey(&mut self, order: BalanceOrder) -> Result<(), OrderError> {
        order.check()?;
        let agent = &self.controller.agent;
        match order {
            BalanceOrder::Stock { path, size } => {
                // Release the space of the old file first.
                self.stock = None;
                let (stock, place) = BalanceFile::make(agent, &path, size, &self.stop)?;
                self.stock = Some(stock);
                let conditions = self.controller.session.conditions();
                self.tell(BalanceEvent::Stocked(Box::new(place), conditions));
            }
            BalanceOrder::Prepare { size, cold } => {
                let cached = match &self.stock {
                    Some(stock) if size > 0 => stock.prepare(size, cold)?,
                    _ => None,
                };
                self.since = Some(Since::now(agent));
                self.tell(BalanceEvent::Prepared(cached));
            }
            BalanceOrder::Feed(begin) => {
                let copy = begin.copy;
                let length = begin.layout.length;
                let begun = match &self.stock {
                    Some(stock) => stock
                        .source(agent, length)
                        .and_then(|source| Feeding::begin(&self.controller, *begin, source)),
                    None => Err("protocol error: a copy was ordered before its test file".into()),
                };
                match begun {
                    Ok(feeding) => self.feedings.push(feeding),
                    Err(error) => {
                        let failed = FeedEvent::Failed(error.to_string());
                        self.tell(BalanceEvent::Fed(copy, failed));
                    }
                }
            }
            BalanceOrder::Route(copy, route) => {
                let its = self.feedings.iter().find(|feeding| feeding.is_of(copy));
                its.into_iter().for_each(|feeding| feeding.route(route.clone()));
            }
            BalanceOrder::End(copy) => {
                let mut accounts = Vec::new();
                for feeding in self.feedings.extract_if(.., |feeding| feeding.is_of(copy)) {
                    accounts.extend(feeding.accounts());
                    feeding.end();
                }
                self.tell(BalanceEvent::Fed(copy, FeedEvent::Ended(accounts)));
            }
            BalanceOrder::Account => {
                let account = self.since.as_ref().map(|since| since.account(agent));
                self.tell(BalanceEvent::Account(account.unwrap_or_default()));
            }
        }
        Ok(())
    }
}

/// The counters of the node and of the agent at the start of a round.
struct Since {
    now_ns: u64,
    disk_ns: u64,
    agent_ns: u64,
    processors: Processors,
}

impl Since {
    fn now(agent: &Agent) -> Self {
        // Reset the counter, to which earlier copies have added.
        agent.awake.take();
        Self {
            now_ns: clock::now_ns(),
            disk_ns: agent.usage.used_ns(),
            agent_ns: clock::cpu_ns(),
            processors: Processors::now(),
        }
    }

    fn account(&self, agent: &Agent) -> NodeUse {
        let cpus = pinning::allowed().map_or(0, |cpus| cpus.len());
        NodeUse {
            elapsed_ns: clock::now_ns().saturating_sub(self.now_ns),
            disk_ns: agent.usage.used_ns().saturating_sub(self.disk_ns),
            agent_ns: clock::cpu_ns().saturating_sub(self.agent_ns),
            awake_ns: agent.awake.take(),
            busy: (self.processors.busy_since() * 1000.0).round() as u16,
            processors: u16::try_from(cpus).unwrap_or(u16::MAX),
        }
    }
}
