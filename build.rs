//! What `lookaside version` says of a build: the compiler, the target, and for release builds the revision.
#![expect(clippy::disallowed_methods, reason = "what cargo tells a build script stands in the environment")]

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LOOKASIDE_REVISION");
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| first_line(&rustc, &["--version"]));
    set("LOOKASIDE_COMPILER", compiler);
    set("LOOKASIDE_TARGET", std::env::var("TARGET").ok());
    let profile = std::env::var("PROFILE").ok();
    set("LOOKASIDE_REVISION", revision(profile.as_deref() == Some("release")));
    set("LOOKASIDE_PROFILE", profile);
}

/// The commit, given from outside where the sources have no history (an image's build), else asked of git.
/// Development builds go without: a commit would compile everything anew.
fn revision(release: bool) -> Option<String> {
    let given = std::env::var("LOOKASIDE_REVISION").ok().filter(|given| !given.is_empty());
    if given.is_some() || !release {
        return given;
    }
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = first_line("git", &["rev-parse", "--git-path", path]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    first_line("git", &["rev-parse", "--short=12", "HEAD"])
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

fn set(name: &str, value: Option<String>) {
    println!("cargo:rustc-env={name}={}", value.unwrap_or_default());
}
