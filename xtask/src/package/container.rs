//! Makes the container image of the static program, as an archive of the OCI image format
//! (<https://github.com/opencontainers/image-spec>): one layer with the program and its licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::checkout::Checkout;
use super::release::Program;
use super::staging::{COPYRIGHT, Staging, date, said};
use super::sums;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The name under which the image is loaded.
const NAME: &str = concat!("localhost/garland:", env!("CARGO_PKG_VERSION"));

/// The start of the media types of the image's parts.
const MEDIA: &str = "application/vnd.oci.image";

/// Makes the image `garland.tar` in the directory `folder`, and returns its path.
///
/// # Errors
/// If a tool is missing, or a file cannot be written.
pub(super) fn build(checkout: &Checkout, program: &Program, folder: &Path) -> Result<PathBuf> {
    let root = Staging::new(folder.join("root"))?;
    program.copy_to(&root.folder("usr/bin/garland")?)?;
    root.put("usr/share/doc/garland/copyright", COPYRIGHT)?;
    root.settle()?;
    let image = Image { staging: Staging::new(folder.join("image"))?, time: &checkout.time };
    let layer = image.staging.put("layer.tar", "")?;
    image.pack(&root, &["usr"], &layer)?;
    let unpacked = sums::of(&layer)?;
    let layer =
        image.blob("layer.v1.tar+gzip", &said(Command::new("gzip").arg("-9nc").arg(&layer))?)?;
    fs::remove_file(image.staging.0.join("layer.tar")).context("failed to remove a layer")?;
    let created = date(&checkout.time)?;
    let config = json!({
        "created": created,
        "architecture": program.architecture().replace("ppc64el", "ppc64le"),
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/garland"],
            "Env": ["PATH=/usr/bin", "GARLAND_STATE=/state"],
            "Labels": labels(),
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{unpacked}")] },
        "history": [{ "created": created, "created_by": "make image" }],
    });
    let config = image.blob("config.v1+json", config.to_string().as_bytes())?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": format!("{MEDIA}.manifest.v1+json"),
        "config": config,
        "layers": [layer],
        "annotations": labels(),
    });
    let mut manifest = image.blob("manifest.v1+json", manifest.to_string().as_bytes())?;
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": VERSION,
        "io.containerd.image.name": NAME,
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": format!("{MEDIA}.index.v1+json"),
        "manifests": [manifest],
    });
    image.staging.put("index.json", index.to_string())?;
    // What Docker reads if it keeps its images itself, not in containerd.
    let docker = json!([{
        "Config": place(&config),
        "RepoTags": [NAME],
        "Layers": [place(&layer)],
    }]);
    image.staging.put("manifest.json", docker.to_string())?;
    image.staging.put("oci-layout", json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    image.staging.settle()?;
    let archive = folder.join("garland.tar");
    image.pack(
        &image.staging,
        &["blobs", "index.json", "manifest.json", "oci-layout"],
        &archive,
    )?;
    Ok(archive)
}

/// Returns the path of the part that `descriptor` describes.
fn place(descriptor: &Value) -> String {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    format!("blobs/{}", digest.replace(':', "/"))
}

fn labels() -> Value {
    json!({
        "org.opencontainers.image.title": "garland",
        "org.opencontainers.image.description": "Copies files to every node of a cluster",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
    })
}

/// An image that is being written.
struct Image<'a> {
    /// Its files, as in the archive.
    staging: Staging,
    /// The time of all files in seconds since 1970.
    time: &'a str,
}

impl Image<'_> {
    /// Writes a part of the image below the name of its digest, and returns its descriptor.
    fn blob(&self, kind: &str, bytes: &[u8]) -> Result<Value> {
        let path = self.staging.put("blobs/sha256/new", bytes)?;
        let digest = sums::of(&path)?;
        fs::rename(&path, path.with_file_name(&digest)).context("failed to name a blob")?;
        Ok(json!({
            "mediaType": format!("{MEDIA}.{kind}"),
            "digest": format!("sha256:{digest}"),
            "size": bytes.len(),
        }))
    }

    /// Packs the files `names` of a directory so that equal files make equal bytes.
    fn pack(&self, staging: &Staging, names: &[&str], archive: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"]);
        tar.arg(format!("--mtime=@{}", self.time)).arg("-cf").arg(archive);
        tar.arg("-C").arg(&staging.0).args(names);
        said(&mut tar).map(drop)
    }
}
