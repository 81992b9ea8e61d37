//! Agents over the system's ssh, with the user's own configuration and keys.
