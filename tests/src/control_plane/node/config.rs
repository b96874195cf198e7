//! Configuration files of the node's programs.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use anyhow::Result;
use serde_json::{Value, json};

use super::{groups::group, image::PAUSE_IMAGE, inside::SOCKET};
use crate::control_plane::{Part, Parts, programs::Settings};

/// File name of the kubelet's configuration, in the node's folder.
pub(super) const KUBELET: &str = "kubelet.json";
/// File name of containerd's configuration.
pub(super) const CONTAINERD: &str = "containerd.toml";
const RUNC: &str = "runc";
const PLUGINS: &str = "cni/bin";

/// Network plugin that gives every pod a network of its own, with an address that nothing uses.
const PLUGIN: &str = r#"#!/bin/sh
case "$CNI_COMMAND" in
ADD) echo '{ "cniVersion": "1.0.0", "interfaces": [{ "name": "eth0", "sandbox": "'"$CNI_NETNS"'" }],
    "ips": [{ "address": "192.0.2.1/32", "interface": 0 }] }' ;;
VERSION) echo '{ "cniVersion": "1.0.0", "supportedVersions": ["1.0.0"] }' ;;
esac
"#;

/// Writes all of them.
pub(super) fn write(settings: &Settings, parts: &Parts, supervisor: &Path) -> Result<()> {
    let folder = settings.node();
    fs::write(folder.join(KUBELET), kubelet(settings).to_string())?;
    fs::write(
        folder.join(CONTAINERD),
        containerd(&folder, parts.path(Part::Shim)?),
    )?;
    let runc = parts.path(Part::Runc)?;
    let script = format!(
        "#!/bin/sh\nexec '{}' runc --group '{}' '{}' \"$@\"\n",
        supervisor.display(),
        group(&settings.folder),
        runc.display()
    );
    write_script(&folder.join(RUNC), &script)?;
    let network =
        json!({ "cniVersion": "1.0.0", "name": "alone", "plugins": [{ "type": "alone" }] });
    fs::create_dir_all(folder.join(PLUGINS))?;
    fs::write(folder.join("cni/alone.conflist"), network.to_string())?;
    write_script(&folder.join(PLUGINS).join("alone"), PLUGIN)
}

fn write_script(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, Permissions::from_mode(0o755))?)
}

fn kubelet(settings: &Settings) -> Value {
    let (folder, identity) = (settings.node(), &settings.identity);
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": "127.0.0.1",
        "port": settings.kubelet_port,
        "healthzPort": 0,
        "containerRuntimeEndpoint": format!("unix://{}", folder.join(SOCKET).display()),
        "podLogsDir": folder.join("logs"),
        "volumePluginDir": folder.join("volume-plugins"),
        // Only the API server may connect.
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": false },
            "x509": { "clientCAFile": identity.authority() },
        },
        "authorization": { "mode": "AlwaysAllow" },
        "tlsCertFile": identity.certificate(),
        "tlsPrivateKeyFile": identity.key(),
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": false,
        "enforceNodeAllocatable": [],
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        "evictionHard": { "memory.available": "1Mi", "nodefs.available": "0.1%", "imagefs.available": "0.1%", "nodefs.inodesFree": "0.1%" },
        "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": false,
        "oomScoreAdj": 0,
        "resolvConf": "",
    })
}

fn containerd(folder: &Path, shim: &Path) -> String {
    // A JSON string is a valid TOML string.
    let path = |path: &Path| Value::from(path.to_string_lossy()).to_string();
    let at = |name: &str| path(&folder.join(name));
    let cri = "plugins.'io.containerd.cri.v1";
    // Without plugins that make folders elsewhere, and without a profile that would stay in the machine's
    // kernel.
    format!(
        "version = 3\n\
         root = {root}\nstate = {state}\n\
         disabled_plugins = ['io.containerd.nri.v1.nri', 'io.containerd.internal.v1.opt']\n\
         [grpc]\naddress = {socket}\n\
         [{cri}.images']\nsnapshotter = 'native'\n\
         [{cri}.images'.pinned_images]\nsandbox = '{PAUSE_IMAGE}'\n\
         [{cri}.runtime']\ndisable_apparmor = true\nrestrict_oom_score_adj = true\n\
         [{cri}.runtime'.cni]\nbin_dirs = [{plugins}]\nconf_dir = {cni}\nuse_internal_loopback = true\n\
         [{cri}.runtime'.containerd.runtimes.runc]\n\
         runtime_type = 'io.containerd.runc.v2'\nruntime_path = {shim}\n\
         [{cri}.runtime'.containerd.runtimes.runc.options]\n\
         BinaryName = {runc}\nSystemdCgroup = false\n",
        root = at("containerd"),
        state = at("state"),
        socket = at(SOCKET),
        cni = at("cni"),
        plugins = at(PLUGINS),
        shim = path(shim),
        runc = at(RUNC),
    )
}
