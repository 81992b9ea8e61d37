//! Agents in the nodes of a lab.
