//! The tasks for a node that wait to be sent, several in one message.

use crate::farm::{FarmOrder, Task};
use garland_core::farm::Command;

/// The maximum size of the tasks in one message, in bytes.
const MESSAGE: usize = 48 << 10;

/// An upper bound for the size of a task without its command and outputs, in bytes.
const TASK: usize = 64;

/// The tasks for one node, in the order in which they will be sent.
#[derive(Debug, Default)]
pub struct TaskQueue {
    tasks: Vec<Task>,
}

impl TaskQueue {
    /// Adds a task.
    pub fn add(&mut self, task: Task) {
        self.tasks.push(task);
    }

    /// Removes all tasks.
    pub fn clear(&mut self) {
        self.tasks.clear();
    }

    /// Removes all tasks, and passes them to `send` in as few orders as possible.
    pub fn flush(&mut self, mut send: impl FnMut(FarmOrder)) {
        let (mut together, mut bytes) = (Vec::new(), 0);
        for task in std::mem::take(&mut self.tasks) {
            let size = TASK + size(&task);
            if bytes + size > MESSAGE && !together.is_empty() {
                send(FarmOrder::Run(std::mem::take(&mut together)));
                bytes = 0;
            }
            bytes += size;
            together.push(task);
        }
        if !together.is_empty() {
            send(FarmOrder::Run(together));
        }
    }
}

/// Returns an upper bound for the size of a task's command and outputs in a message, in bytes.
pub fn size(task: &Task) -> usize {
    let command = match &task.command {
        Command::Words(words) => words.iter().map(|word| word.bytes().len() + 3).sum(),
        Command::Line(line) => line.bytes().len(),
    };
    let outputs = task.outputs.iter().map(|(one, two)| one.bytes().len() + two.bytes().len() + 6);
    command + outputs.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_MESSAGE;
    use crate::message::{Message, ToAgent};

    #[test]
    fn tasks_are_sent_in_order_and_no_message_is_too_long() {
        let task = |job: u32| Task {
            job,
            command: Command::Line(vec![b'x'; 1000 * job as usize].into()),
            own_folder: false,
            outputs: vec![("a".into(), "b".into())],
            cores: 1,
            timeout_ns: Some(u64::MAX),
        };
        let mut queue = TaskQueue::default();
        (1..=32).for_each(|job| queue.add(task(job)));
        let mut messages = Vec::new();
        queue.flush(|order| messages.push(order));
        let sizes = messages.iter().map(|order| ToAgent::Farm(order.clone()).to_bytes().len());
        assert!(sizes.max().unwrap() <= MAX_MESSAGE);
        let run = |order: &FarmOrder| match order {
            FarmOrder::Run(tasks) => tasks.iter().map(|task| task.job).collect::<Vec<_>>(),
            order => panic!("{order:?}"),
        };
        assert_eq!(messages.iter().flat_map(run).collect::<Vec<_>>(), Vec::from_iter(1..=32));
        assert_eq!(run(&messages[0]), [1, 2, 3, 4, 5, 6, 7, 8, 9], "48 KiB at most");
        queue.flush(|order| panic!("sent twice: {order:?}"));
    }
}
