//! The messages with tasks for a node: several tasks in one message.

use garland_core::farm::Command;

use crate::farm::jobs::{FarmOrder, Task};

/// The maximum size of the tasks in one message, in bytes.
const MESSAGE: usize = 48 << 10;

/// An upper bound for the size of a task without its texts, in bytes.
const TASK: usize = 64;

/// Returns the orders to run tasks, in their order: as few orders as possible.
pub fn orders_of(tasks: Vec<Task>) -> Vec<FarmOrder> {
    let mut orders = Vec::new();
    let mut together = Vec::new();
    let mut bytes = 0;
    for task in tasks {
        let size = TASK + size(&task);
        if bytes + size > MESSAGE && !together.is_empty() {
            orders.push(FarmOrder::Run(std::mem::take(&mut together)));
            bytes = 0;
        }
        bytes += size;
        together.push(task);
    }
    orders.extend(Some(together).filter(|tasks| !tasks.is_empty()).map(FarmOrder::Run));
    orders
}

/// Returns an upper bound for the size of a task's texts in a message, in bytes: its commands, and
/// the names of its files.
pub fn size(task: &Task) -> usize {
    let command = match &task.command {
        Command::Words(words) => words.iter().map(|word| word.bytes().len() + 3).sum(),
        Command::Line(line) => line.bytes().len(),
    };
    let outputs = task.outputs.iter().map(|(one, two)| one.bytes().len() + two.bytes().len() + 6);
    let saved = task.checkpoint.iter().chain(&task.state).map(|text| text.bytes().len() + 3);
    command + outputs.sum::<usize>() + saved.sum::<usize>()
}

#[cfg(test)]
mod tests;
