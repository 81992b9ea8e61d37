mod answers;
mod evidence;
mod model;
mod operations;
mod sums;
