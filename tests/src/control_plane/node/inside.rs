//! The inside of the node's namespaces: the hidden commands `node` and `runc`.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use rustix::{
    io::Errno,
    process::{Pid, WaitOptions, wait},
};
use serde_json::Value;

use super::{config, image};

/// Socket of containerd, in the node's folder.
pub(super) const SOCKET: &str = "containerd.sock";

/// Maximum time until containerd listens.
const START: Duration = Duration::from_mins(1);

/// Folders that programs write to although they are configured to write elsewhere. Nothing of that must be
/// seen outside.
const HIDDEN: [&str; 3] = ["/run", "/var/lib", "/var/log"];

/// Settings of the machine's kernel that the kubelet wants to change. It gets copies that it may write.
const SETTINGS: [&str; 6] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// Arguments of the first process of the node.
#[derive(Clone, Debug, Args)]
pub struct Node {
    #[arg(long)]
    folder: PathBuf,
    #[arg(long)]
    containerd: PathBuf,
    #[arg(long)]
    ctr: PathBuf,
    #[arg(long)]
    kubelet: PathBuf,
    /// Command line of the kubelet.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

impl Node {
    /// Starts the programs of the node and ends when one of them does.
    pub fn run(&self) -> Result<()> {
        self.hide()?;
        let log = |name: &str| self.folder.with_file_name(name);
        let containerd = Command::new(&self.containerd)
            .arg("--config")
            .arg(self.folder.join(config::CONTAINERD))
            .stdout(open(&log("containerd.log"))?)
            .stderr(open(&log("containerd.log"))?)
            .spawn()
            .context("starting containerd")?;
        self.import()?;
        let kubelet = Command::new(&self.kubelet)
            .arg("--config")
            .arg(self.folder.join(config::KUBELET))
            .args(&self.arguments)
            .spawn()
            .context("starting the kubelet")?;
        watch(&[("containerd", containerd), ("the kubelet", kubelet)])
    }

    /// Hides everything that is done here from the outside, and keeps the kubelet from changing the machine's
    /// kernel.
    fn hide(&self) -> Result<()> {
        let needed = [&self.folder, &self.containerd, &self.ctr, &self.kubelet];
        for hidden in HIDDEN {
            if !needed.iter().any(|path| path.starts_with(hidden)) {
                mount(["-t", "tmpfs", "none", hidden])?;
            }
        }
        mount(["--bind", "/proc/sys", "/proc/sys"])?;
        mount(["-o", "remount,bind,ro", "/proc/sys"])?;
        for setting in SETTINGS {
            let real = Path::new("/proc/sys").join(setting);
            let copy = self.folder.join(setting.replace('/', "."));
            if let Ok(value) = fs::read(&real) {
                fs::write(&copy, value)?;
                mount([OsStr::new("--bind"), copy.as_os_str(), real.as_os_str()])?;
            }
        }
        Ok(())
    }

    /// Gives containerd the images as soon as it accepts them.
    fn import(&self) -> Result<()> {
        let archive = self.folder.join(image::ARCHIVE);
        let begin = Instant::now();
        loop {
            match import(&self.ctr, &self.folder, &archive) {
                Err(_) if begin.elapsed() < START => thread::sleep(Duration::from_millis(50)),
                outcome => return outcome,
            }
        }
    }
}

/// Gives the containerd of this folder the images of an archive.
pub(super) fn import(ctr: &Path, folder: &Path, archive: &Path) -> Result<()> {
    let output = Command::new(ctr)
        .arg("--address")
        .arg(folder.join(SOCKET))
        .args(["--namespace", "k8s.io", "images", "import", "--local"])
        .args(["--snapshotter", "native"])
        .arg(archive)
        .stdin(Stdio::null())
        .output()
        .context("starting ctr")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("importing images: {said}");
    }
    Ok(())
}

fn open(log: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    file.with_context(|| format!("opening {}", log.display()))
}

fn mount<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Result<()> {
    let mut command = Command::new("mount");
    command.args(arguments);
    let status = command.status().context("mount")?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// Waits until one of these has ended. A process whose parent has ended belongs to this process, which waits
/// for it as well.
fn watch(programs: &[(&str, Child)]) -> Result<()> {
    loop {
        let (ended, status) = match wait(WaitOptions::empty()) {
            Ok(Some(ended)) => ended,
            Ok(None) | Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let is_it =
            |child: &Child| Some(Pid::as_raw(Some(ended))) == i32::try_from(child.id()).ok();
        if let Some((name, _)) = programs.iter().find(|(_, child)| is_it(child)) {
            bail!("{name} has ended: {status:?}");
        }
    }
}

/// Arguments of runc's stand-in.
#[derive(Clone, Debug, Args)]
pub struct Runc {
    /// The control group above those of the containers.
    #[arg(long)]
    group: String,
    program: PathBuf,
    /// Arguments of runc itself.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Runc {
    /// Adapts the configuration of a new container to what runc can do, and then becomes runc.
    pub fn run(&self) -> Result<()> {
        let mut arguments = self.arguments.iter();
        if arguments.any(|argument| argument == "--bundle") {
            let bundle = arguments.next().context("--bundle names no folder")?;
            self.change(&Path::new(bundle).join("config.json"))?;
        }
        let error = Command::new(&self.program).args(&self.arguments).exec();
        Err(error).context("starting runc")
    }

    fn change(&self, config: &Path) -> Result<()> {
        let reading = || format!("reading {}", config.display());
        let text = fs::read_to_string(config).with_context(reading)?;
        let mut container: Value = serde_json::from_str(&text).with_context(reading)?;
        let linux = container.get_mut("linux").and_then(Value::as_object_mut);
        let linux = linux.with_context(|| format!("{}: no linux", config.display()))?;
        // This runc is built without the library for seccomp and refuses it.
        linux.remove("seccomp");
        // A place where the group can be found and removed afterwards; its own name is the last one.
        if let Some(Value::String(path)) = linux.get_mut("cgroupsPath") {
            let own = path.rsplit('/').next().unwrap_or_default();
            *path = format!("{}/{own}", self.group);
        }
        fs::write(config, container.to_string())?;
        Ok(())
    }
}
