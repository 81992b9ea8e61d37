//! Creates the object stores of addresses, configured by the environment.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use crate::address::Address;
use crate::answer;
use crate::profile::{self, Profile};
use crate::transport::Transport;
use crate::trouble::Trouble;

/// The number of retries of a request that a busy server rejected, or that got no response.
const RETRIES_MAX: usize = 6;

/// The time after which a request is no longer retried.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);

/// Environment variables that select another source of credentials: the service of a container or a
/// pod.
const ELSEWHERE: [&str; 3] = [
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];

/// An object store, and the path of an object or of a prefix in it.
#[derive(Clone)]
pub(crate) struct StorePath {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
}

impl StorePath {
    /// Creates the object store of `address`, which `transport` reaches.
    pub(crate) fn open(address: &Address, transport: Transport) -> Result<Self, Trouble> {
        match address {
            Address::S3 { bucket, key } => in_bucket(address, bucket, key, transport),
            Address::Http(url) => {
                // The whole URL belongs to the store, since a path would be encoded again.
                let built = HttpBuilder::new()
                    .with_url(url)
                    .with_http_connector(transport)
                    .with_retry(retries())
                    .build();
                let store = built.map_err(|error| answer::trouble(&error, "open", address))?;
                Ok(Self { store: Arc::new(store), path: Path::default() })
            }
        }
    }
}

fn retries() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(5),
        base: 2.0,
    };
    RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRY_TIMEOUT }
}

fn in_bucket(
    address: &Address,
    bucket: &str,
    key: &str,
    transport: Transport,
) -> Result<StorePath, Trouble> {
    let path = Path::parse(key).map_err(|error| {
        Trouble::new(format!("{address}: the key is not valid: {error}"))
            .hint("keys with empty components are not supported")
    })?;
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let profile = profile::read(&environment).ok_or_else(|| {
        let name = environment("AWS_PROFILE").unwrap_or_default();
        Trouble::new(format!(
            "cannot open {address}: the profile {name} (AWS_PROFILE) is missing in ~/.aws/config and ~/.aws/credentials"
        ))
    })?;
    if !has_credentials(&environment, &profile) {
        return Err(Trouble::new(format!("cannot open {address}: no credentials")).hint(
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket \
             AWS_SKIP_SIGNATURE=true; for other sources of credentials run: eval \"$(aws configure \
             export-credentials --format env)\"",
        ));
    }
    let mut builder = AmazonS3Builder::new();
    let own = environment("AWS_ACCESS_KEY_ID").is_some();
    let keys = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
    // The three keys belong together: keys of the profile and keys of the environment are not
    // mixed.
    for (name, value) in profile.iter().filter(|(name, _)| !(own && keys.contains(&name.as_str())))
    {
        if let Ok(name) = format!("aws_{}", name.trim_start_matches("aws_")).parse() {
            builder = builder.with_config(name, value);
        }
    }
    for (name, value) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        if let Ok(name) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(name, value);
        }
    }
    let builder = builder.with_bucket_name(bucket).with_retry(retries());
    // The first store is made for its credentials alone, which have a client of their own.
    let by = |builder: AmazonS3Builder, transport| {
        let built = builder.with_http_connector(transport).build();
        built.map_err(|error| answer::trouble(&error, "open", address))
    };
    let credentials = by(builder.clone(), transport.for_credentials())?.credentials().clone();
    let store = by(builder.with_credentials(credentials), transport)?;
    Ok(StorePath { store: Arc::new(store), path })
}

/// Returns whether there are credentials, or a service that provides them. The service of EC2 is
/// used on EC2 machines only, since it does not answer elsewhere.
fn has_credentials(environment: &dyn Fn(&str) -> Option<String>, profile: &Profile) -> bool {
    let skips = environment("AWS_SKIP_SIGNATURE").is_some_and(|value| value == "true");
    let on_ec2 = || {
        let disabled =
            environment("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value == "true");
        let vendor = std::fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
        !disabled && vendor.starts_with("Amazon EC2")
    };
    skips
        || environment("AWS_ACCESS_KEY_ID").is_some()
        || profile.contains_key("aws_access_key_id")
        || ELSEWHERE.iter().any(|name| environment(name).is_some())
        || on_ec2()
}
