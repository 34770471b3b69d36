//! The Dockerfile, built as far as that goes without a container engine (`tests/image/build.sh`): what is in the
//! image, how much of it there is, and that it runs as an unprivileged user on a read-only root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value as Json;

use crate::replica::free_port;
use crate::security::{PASSWORD, USER, listener};
use crate::topic::{self, Writer};
use crate::{security, stack};

/// All files of the image together.
const BYTES_MAX: u64 = 80_000_000;

struct Image {
    folder: tempfile::TempDir,
}

/// The image; `None` where it cannot be built.
fn image() -> Option<&'static Image> {
    static IMAGE: OnceLock<Option<Image>> = OnceLock::new();
    IMAGE.get_or_init(build).as_ref()
}

fn build() -> Option<Image> {
    let folder = tempfile::tempdir().expect("folder");
    let output = Command::new("tests/image/build.sh").arg(folder.path()).output().expect("build.sh");
    let said = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    if output.status.code() == Some(3) && std::env::var_os("CI").is_none() {
        eprintln!("SKIPPED, the image is not tested: {}", said.lines().last().unwrap_or_default());
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(Image { folder })
}

impl Image {
    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn config(&self) -> Json {
        let text = fs::read_to_string(self.folder.path().join("config.json")).expect("config.json");
        let config: Json = serde_json::from_str(&text).expect("JSON");
        config["OCIv1"]["config"].clone()
    }

    /// Runs the image's program as its user, on its root, which nothing can write to; `files` are seen in `/mnt`.
    fn run(&self, files: &Path, arguments: &[&str]) -> Output {
        let root = self.root();
        // Where an engine mounts things.
        for name in ["proc", "dev", "mnt"] {
            fs::create_dir_all(root.join(name)).expect("mount point");
        }
        let script = r#"set -e; root=$1; files=$2; shift 2
            mount --bind "$root" "$root"
            # Only the demo writes anything: its SQLite tables.
            [ "$1" != demo ] || mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
            mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --bind "$files" "$root/mnt"
            mount -o remount,bind,ro "$root"
            exec chroot --userspec=65532:65532 "$root" /usr/bin/lookaside "$@""#;
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(root).arg(files).args(arguments);
        let address = format!("127.0.0.1:{}", free_port());
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LOOKASIDE__HTTP__ADDRESS", address).output().expect("unshare")
    }
}

/// Sizes of all files below a folder.
fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path());
    entries
        .map(|path| {
            let found = fs::symlink_metadata(&path).expect("metadata");
            if found.is_dir() { bytes(&path) } else { found.len() }
        })
        .sum()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One test, for the image is built once and the folder is one.
#[test]
fn it_is_small_unprivileged_and_runs_on_a_read_only_root() {
    let Some(image) = image() else { return };
    let config = image.config();
    assert_eq!(config["User"], "65532:65532");
    assert_eq!(config["Entrypoint"], serde_json::json!(["/usr/bin/lookaside"]));
    for absent in ["bin/sh", "usr/bin/dash", "usr/bin/apt", "src", "root.sh"] {
        assert!(!image.root().join(absent).exists(), "{absent}");
    }
    let size = bytes(&image.root());
    println!("the image's files: {size} bytes");
    assert!(size < BYTES_MAX, "{size} bytes");

    let files = tempfile::tempdir().expect("folder");
    let version = image.run(files.path(), &["version", "--output", "json"]);
    assert!(version.status.success(), "{}", text(&version.stderr));
    let version: Json = serde_json::from_slice(&version.stdout).expect("JSON");
    assert_eq!(version["codecs"], serde_json::json!(["gzip", "snappy", "lz4", "zstd"]));
    assert_eq!(version["tls"]["kafka"], true);

    let demo = image.run(files.path(), &["demo", "--seconds", "3", "--port", "0", "--rate", "5"]);
    let changelog = text(&demo.stdout);
    assert!(demo.status.success(), "{}", text(&demo.stderr));
    assert!(changelog.lines().any(|line| line.starts_with("+I[")), "{changelog}{}", text(&demo.stderr));

    a_job_runs_in_it(image, files.path());
}

/// A job over TLS, to its end.
fn a_job_runs_in_it(image: &Image, files: &Path) {
    let source = topic::unique("image");
    topic::create(&source, 1);
    let writer = Writer::new(&source);
    writer.send(r#"{"id":1}"#, Some(r#"{"id":1,"v":10}"#));
    writer.flush();
    let definition = format!(
        "name: {source}
tables:
  src:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {}
    properties.security.protocol: SASL_SSL
    properties.sasl.mechanism: SCRAM-SHA-512
    properties.sasl.jaas.config: org.apache.kafka.common.security.scram.ScramLoginModule required username=\"{USER}\" password=\"${{file:/mnt/password}}\";
    properties.ssl.truststore.type: PEM
    properties.ssl.truststore.location: /mnt/ca.pem
    key.format: json
    value.format: json
    scan.bounded.mode: latest-offset
    columns: [id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED]
  out: {{connector: print}}
pipeline: {{from: src, into: out}}
",
        listener("SASL_SSL")
    );
    for (name, content) in [
        ("definition.yaml", definition),
        ("password", PASSWORD.to_owned()),
        ("ca.pem", security::text("ca.pem")),
    ] {
        fs::write(files.join(name), content).expect("file");
    }
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(files, open).expect("mode");
    let output = image.run(files, &["run", "/mnt/definition.yaml"]);
    assert!(output.status.success(), "{}\n{}", text(&output.stderr), stack::kafka());
    assert_eq!(text(&output.stdout), "+I[1, 10]\n");
}
