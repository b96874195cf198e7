//! The identity of the API server (certificates) and of its clients (tokens, kubeconfigs).

use std::{
    fmt::Write,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use kube::config::{
    AuthInfo, Cluster, Context as KubeContext, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

use super::random;

/// These accounts have unrestricted rights. Each has its own name, so that the audit log shows which one
/// acts. The controller under test is none of them.
const ACCOUNTS: [&str; 5] = [ADMIN, CONTROLLER_MANAGER, SCHEDULER, KWOK, KUBELET];

/// The user at the keyboard, or the test.
pub(super) const ADMIN: &str = "admin";
pub(super) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
pub(super) const SCHEDULER: &str = "kube-scheduler";
pub(super) const KWOK: &str = "kwok";
pub(super) const KUBELET: &str = "kubelet";

/// Certificates, keys and tokens, in files of one folder.
#[derive(Debug)]
pub(super) struct Identity {
    folder: PathBuf,
}

impl Identity {
    /// Makes everything anew, for an API server at `https://127.0.0.1:<port>`.
    pub(super) fn create(folder: &Path, port: u16) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let identity = Self {
            folder: folder.to_owned(),
        };
        identity.write_certificates()?;
        // This key signs the tokens of ServiceAccounts.
        let signer = KeyPair::generate()?;
        identity.write("service-accounts.key", &signer.serialize_pem())?;
        identity.write("service-accounts.pub", &signer.public_key_pem())?;
        let mut tokens = String::new();
        for account in ACCOUNTS {
            let token = random::word::<16>()?;
            // Token, user, uid, groups.
            writeln!(tokens, "{token},{account},{account},system:masters")?;
            let kubeconfig = kubeconfig(account, &token, port, &identity.authority());
            write_kubeconfig(&identity.kubeconfig(account), &kubeconfig)?;
        }
        identity.write("tokens.csv", &tokens)?;
        Ok(identity)
    }

    pub(super) fn authority(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    pub(super) fn certificate(&self) -> PathBuf {
        self.folder.join("server.crt")
    }

    pub(super) fn key(&self) -> PathBuf {
        self.folder.join("server.key")
    }

    pub(super) fn service_account_key(&self) -> PathBuf {
        self.folder.join("service-accounts.key")
    }

    pub(super) fn service_account_public_key(&self) -> PathBuf {
        self.folder.join("service-accounts.pub")
    }

    pub(super) fn tokens(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    pub(super) fn kubeconfig(&self, account: &str) -> PathBuf {
        self.folder.join(format!("{account}.kubeconfig"))
    }

    fn write_certificates(&self) -> Result<()> {
        let mut authority = CertificateParams::default();
        authority
            .distinguished_name
            .push(DnType::CommonName, "cartouche-local");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

        let names = [
            "localhost",
            "127.0.0.1",
            "kubernetes",
            "kubernetes.default.svc",
        ];
        let mut server = CertificateParams::new(names.map(str::to_owned))?;
        server
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        // The kubelet serves with this certificate as well, and the API server shows it to the kubelet as its
        // client. The kubelet listens for the whole machine, but accepts requests from the API server only.
        server.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate()?;
        let server = server.signed_by(&key, &authority)?;

        self.write("ca.crt", &authority.pem())?;
        self.write("server.crt", &server.pem())?;
        self.write("server.key", &key.serialize_pem())
    }

    fn write(&self, name: &str, content: &str) -> Result<()> {
        write_private(&self.folder.join(name), content)
    }
}

/// Returns a kubeconfig for a token on a local API server.
fn kubeconfig(user: &str, token: &str, port: u16, authority: &Path) -> Kubeconfig {
    let cluster = Cluster {
        server: Some(format!("https://127.0.0.1:{port}")),
        certificate_authority: Some(authority.display().to_string()),
        ..Cluster::default()
    };
    with_token(cluster, user, token)
}

/// Returns a kubeconfig for a token on the given cluster.
pub(crate) fn with_token(cluster: Cluster, user: &str, token: &str) -> Kubeconfig {
    const NAME: &str = "cartouche";
    Kubeconfig {
        kind: Some("Config".to_owned()),
        api_version: Some("v1".to_owned()),
        current_context: Some(NAME.to_owned()),
        clusters: vec![NamedCluster {
            name: NAME.to_owned(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: user.to_owned(),
            auth_info: Some(AuthInfo {
                token: Some(token.to_owned().into()),
                ..AuthInfo::default()
            }),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: NAME.to_owned(),
            context: Some(KubeContext {
                cluster: NAME.to_owned(),
                user: Some(user.to_owned()),
                ..KubeContext::default()
            }),
            ..NamedContext::default()
        }],
        ..Kubeconfig::default()
    }
}

/// Writes a kubeconfig that only its owner can read.
pub(crate) fn write_kubeconfig(path: &Path, kubeconfig: &Kubeconfig) -> Result<()> {
    let text = serde_saphyr::to_string(kubeconfig)
        .with_context(|| format!("writing {}", path.display()))?;
    write_private(path, &text)
}

fn write_private(path: &Path, content: &str) -> Result<()> {
    fs::write(path, content)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o600)))
        .with_context(|| format!("writing {}", path.display()))
}
