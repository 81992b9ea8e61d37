//! What environment variables ask of tests: how many rounds, and which.

/// Returns the number in the environment variable `name`; none if it is not set.
///
/// # Panics
/// When it is set to something else: the test would do other rounds than those that were asked for.
#[must_use]
pub fn env_number(name: &str) -> Option<u64> {
    let text = std::env::var_os(name)?;
    let number = text.to_str().and_then(|text| text.parse().ok());
    Some(number.unwrap_or_else(|| panic!("{name} is no number: {}", text.display())))
}
