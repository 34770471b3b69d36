//! Files and folders that may not be read or written: one clear line and the documented exit code.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user who owns nothing: to root every file is open.
const NOBODY: u32 = 65_534;

/// A folder that everybody may enter, with the program in it where it must run as somebody else.
struct World {
    folder: tempfile::TempDir,
    program: PathBuf,
    is_root: bool,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let is_root = rustix::process::geteuid().is_root();
        let built = PathBuf::from(env!("CARGO_BIN_EXE_lookaside"));
        let program = if is_root { folder.path().join("lookaside") } else { built.clone() };
        if is_root {
            fs::copy(&built, &program).expect("the program");
        }
        let world = Self { folder, program, is_root };
        world.mode("", 0o755);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).expect("mode");
    }

    /// A file that nobody but root may read.
    fn closed(&self, name: &str) {
        fs::write(self.path(name), "name: x\n").expect("file");
        self.mode(name, 0o000);
    }

    /// Exit code and standard error.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.folder.path());
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().expect("lookaside runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    }
}

fn said(code: i32, text: &str) -> (Option<i32>, String) {
    (Some(code), text.to_owned())
}

#[test]
fn what_may_not_be_read_is_one_line() {
    let world = World::new();
    world.closed("closed.yaml");
    fs::create_dir(world.path("folder")).expect("folder");
    world.mode("folder", 0o000);
    let one = |text: &str| format!("{text}\n1 fault found\n");
    assert_eq!(
        world.run(&["validate", "closed.yaml"]),
        said(3, &one("closed.yaml: cannot be read: permission denied"))
    );
    assert_eq!(
        world.run(&["validate", "folder"]),
        said(3, &one("folder: cannot be read: permission denied"))
    );
    assert_eq!(
        world.run(&["run", "absent.yaml"]),
        said(3, &one("absent.yaml: cannot be read: there is no such file or folder"))
    );
    let (code, text) = world.run(&["config", "--settings", "closed.yaml"]);
    assert_eq!((code, text.lines().count()), (Some(3), 2), "{text}");
    assert!(text.starts_with("closed.yaml: cannot be read: permission denied"), "{text}");
    let (code, text) = world.run(&["test", "folder"]);
    assert_eq!((code, text.as_str()), (Some(2), "error: folder: cannot be read: permission denied\n"));
    let (code, text) = world.run(&["keygroups", "--type", "INT", "--keys", "closed.yaml"]);
    assert_eq!((code, text.as_str()), (Some(2), "error: closed.yaml: cannot be read: permission denied\n"));
    world.mode("folder", 0o755);
}

#[test]
fn a_secret_that_may_not_be_read_is_named_with_its_place() {
    let world = World::new();
    world.closed("secret");
    let text = fs::read_to_string("tests/broken/secret-file-missing.yaml").expect("definition");
    let secret = world.path("secret").display().to_string();
    fs::write(world.path("job.yaml"), text.replace("/no/such/secret", &secret)).expect("definition");
    let (code, text) = world.run(&["validate", "job.yaml"]);
    assert_eq!(code, Some(3));
    assert!(
        text.starts_with(&format!("job.yaml:21:15: file '{secret}' cannot be read: permission denied; ")),
        "{text}"
    );
}

#[test]
fn what_may_not_be_written_is_one_line() {
    let world = World::new();
    fs::create_dir(world.path("folder")).expect("folder");
    world.mode("folder", 0o555);
    assert_eq!(
        world.run(&["init", "folder/job.yaml"]),
        said(2, "error: folder/job.yaml cannot be written: permission denied\n")
    );
    assert!(!Path::new(&world.path("folder/job.yaml")).exists());
    world.mode("folder", 0o755);
}
