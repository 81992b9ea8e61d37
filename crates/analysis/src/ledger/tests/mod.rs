mod answers;
mod evidence;
mod idle;
mod model;
mod operations;
mod routes;
mod sums;
