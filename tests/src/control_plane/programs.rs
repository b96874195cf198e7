//! The command lines of the control plane's programs.

use std::path::{Path, PathBuf};

use super::{
    identity::{CONTROLLER_MANAGER, Identity, KWOK, SCHEDULER},
    supervise::Program,
};

/// Settings that the command lines have in common.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) folder: PathBuf,
    pub(super) etcd_port: u16,
    pub(super) api_port: u16,
    pub(super) kwok_port: u16,
    pub(super) kubelet_port: u16,
    pub(super) identity: Identity,
    pub(super) audit: bool,
}

impl Settings {
    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    pub(super) fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.json")
    }

    fn etcd_address(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd_port)
    }

    pub(super) fn etcd(&self, path: &Path) -> Program {
        let address = self.etcd_address();
        server(path, self.log("etcd"))
            .arg("--data-dir")
            .arg(self.folder.join("etcd"))
            .arg(format!("--listen-client-urls={address}"))
            .arg(format!("--advertise-client-urls={address}"))
            .arg("--listen-peer-urls=http://127.0.0.1:0")
            // The data survives a killed process without fsync, but not a power cut.
            .arg("--unsafe-no-fsync")
            .arg("--log-level=warn")
    }

    pub(super) fn api_server(&self, path: &Path) -> Program {
        let identity = &self.identity;
        let program = server(path, self.log("kube-apiserver"))
            .arg(format!("--etcd-servers={}", self.etcd_address()))
            .arg(format!("--secure-port={}", self.api_port))
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
            // A loopback address is no endpoint that a pod could use.
            .arg("--endpoint-reconciler-type=none")
            .arg("--service-cluster-ip-range=10.0.0.0/24")
            .arg("--authorization-mode=RBAC")
            .arg("--token-auth-file")
            .arg(identity.tokens())
            .arg("--tls-cert-file")
            .arg(identity.certificate())
            .arg("--tls-private-key-file")
            .arg(identity.key())
            // For logs from the kubelet. Its address is the loopback one, which only this machine needs.
            .arg("--kubelet-certificate-authority")
            .arg(identity.authority())
            .arg("--kubelet-client-certificate")
            .arg(identity.certificate())
            .arg("--kubelet-client-key")
            .arg(identity.key())
            .arg("--kubelet-preferred-address-types=InternalIP")
            .arg("--service-account-issuer=https://kubernetes.default.svc.cluster.local")
            .arg("--service-account-key-file")
            .arg(identity.service_account_public_key())
            .arg("--service-account-signing-key-file")
            .arg(identity.service_account_key());
        if !self.audit {
            return program;
        }
        program
            .arg("--audit-policy-file")
            .arg(self.folder.join("audit-policy.yaml"))
            .arg("--audit-log-path")
            .arg(self.audit_log())
            // Blocking: the log has every answered request. One file without rotation has it all. The size is
            // in megabytes; zero would mean a hundred, after which the log begins anew.
            .args(["--audit-log-mode=blocking", "--audit-log-maxsize=1000000"])
    }

    pub(super) fn controller_manager(&self, path: &Path) -> Program {
        server(path, self.log("kube-controller-manager"))
            .arg("--kubeconfig")
            .arg(self.identity.kubeconfig(CONTROLLER_MANAGER))
            .arg("--service-account-private-key-file")
            .arg(self.identity.service_account_key())
            .arg("--root-ca-file")
            .arg(self.identity.authority())
            // The played node reports once and never again.
            .arg("--node-monitor-grace-period=87600h")
            .args(["--leader-elect=false", "--secure-port=0"])
            .args(["--kube-api-qps=500", "--kube-api-burst=1000"])
    }

    pub(super) fn scheduler(&self, path: &Path) -> Program {
        server(path, self.log("kube-scheduler"))
            .arg("--kubeconfig")
            .arg(self.identity.kubeconfig(SCHEDULER))
            .args(["--leader-elect=false", "--secure-port=0"])
            .args(["--kube-api-qps=500", "--kube-api-burst=1000"])
    }

    /// Returns the command line of KWOK. `stages` are the files that define what KWOK plays.
    pub(super) fn kwok(&self, path: &Path, stages: &[PathBuf]) -> Program {
        let program = Program::new(path, self.log("kwok"))
            // A crashed Go program ends with 2, which happens to KWOK once in a while. For a stage that it
            // cannot play it ends with 1.
            .restart_on(2)
            .arg("--kubeconfig")
            .arg(self.identity.kubeconfig(KWOK))
            .arg(format!("--server-address=127.0.0.1:{}", self.kwok_port))
            // A lease would keep a restarted KWOK from its node until it expires.
            .args(["--manage-all-nodes", "--node-lease-duration-seconds=0"]);
        stages
            .iter()
            .fold(program, |program, file| program.arg("--config").arg(file))
    }
}

/// Returns a program in Go that is short-lived and has much memory to itself: it collects garbage less often, as long
/// as it is small.
fn server(path: &Path, log: PathBuf) -> Program {
    Program::new(path, log)
        .env("GOGC", "300")
        .env("GOMEMLIMIT", "2GiB")
}
