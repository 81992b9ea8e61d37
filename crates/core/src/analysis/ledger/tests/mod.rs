mod answers;
mod evidence;
mod idle;
mod model;
mod sums;
