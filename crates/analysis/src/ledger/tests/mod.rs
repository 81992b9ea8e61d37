mod answers;
mod evidence;
mod idle;
mod model;
mod operations;
mod pairs;
mod routes;
mod sums;
