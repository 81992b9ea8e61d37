mod answers;
mod evidence;
mod model;
mod sums;
