mod golden;
mod refusals;
