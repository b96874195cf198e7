//! The programs of the control plane, and their sources.

use std::{
    env, io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::{Size, build};
use crate::progress::Progress;

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers of the built-in kinds: Jobs, garbage collection, namespaces.
    ControllerManager,
    /// The scheduler of pods.
    Scheduler,
    /// The command line.
    Kubectl,
    /// Player of kubelets, and of the engines behind custom resources.
    Kwok,
    /// The agent that runs the pods of a real node.
    Kubelet,
    /// The container runtime of the kubelet.
    Containerd,
    /// The process between containerd and a container.
    Shim,
    /// The command line of containerd.
    Ctr,
    /// The program that makes a container.
    Runc,
    /// A program that some containers of a real node run; not needed for a node.
    OpenTofu,
    /// The controller of Tekton Pipelines: an engine, not needed for a control plane.
    Tekton,
    /// The controller of Argo Workflows: an engine, not needed for a control plane.
    ArgoWorkflows,
    /// Kueue's manager: a queue, not needed for a control plane.
    Kueue,
    /// The part of Flux that fetches from Git: not needed for a control plane.
    SourceController,
    /// The part of Flux that applies what was fetched: not needed for a control plane.
    KustomizeController,
    /// The present Helm, which installs charts: not needed for a control plane.
    Helm4,
    /// The Helm before it.
    Helm3,
}

impl Part {
    /// All parts of a full control plane, quickest to build first.
    pub const ALL: [Self; 6] = [
        Self::Etcd,
        Self::Kwok,
        Self::ApiServer,
        Self::Kubectl,
        Self::ControllerManager,
        Self::Scheduler,
    ];

    /// The parts of a real node, in KWOK's place.
    pub const NODE: [Self; 5] = [
        Self::Runc,
        Self::Containerd,
        Self::Shim,
        Self::Ctr,
        Self::Kubelet,
    ];

    /// Returns the file name of the program.
    #[must_use]
    pub fn binary(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
            Self::Kubelet => "kubelet",
            Self::Containerd => "containerd",
            Self::Shim => "containerd-shim-runc-v2",
            Self::Ctr => "ctr",
            Self::Runc => "runc",
            Self::OpenTofu => "tofu",
            Self::Tekton => "tekton-controller",
            Self::ArgoWorkflows => "workflow-controller",
            Self::Kueue => "kueue",
            Self::SourceController => "source-controller",
            Self::KustomizeController => "kustomize-controller",
            Self::Helm4 => "helm4",
            Self::Helm3 => "helm3",
        }
    }

    /// Returns the Go package of the program.
    pub(super) fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::ApiServer => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::ControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Scheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::Kwok => "sigs.k8s.io/kwok/cmd/kwok",
            Self::Kubelet => "k8s.io/kubernetes/cmd/kubelet",
            Self::Containerd => "github.com/containerd/containerd/v2/cmd/containerd",
            Self::Shim => "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
            Self::Ctr => "github.com/containerd/containerd/v2/cmd/ctr",
            Self::Runc => "github.com/opencontainers/runc",
            Self::OpenTofu => "github.com/opentofu/opentofu/cmd/tofu",
            Self::Tekton => "github.com/tektoncd/pipeline/cmd/controller",
            Self::ArgoWorkflows => "github.com/argoproj/argo-workflows/v3/cmd/workflow-controller",
            Self::Kueue => "sigs.k8s.io/kueue/cmd/kueue",
            Self::SourceController => "github.com/fluxcd/source-controller",
            Self::KustomizeController => "github.com/fluxcd/kustomize-controller",
            Self::Helm4 => "helm.sh/helm/v4/cmd/helm",
            Self::Helm3 => "helm.sh/helm/v3/cmd/helm",
        }
    }

    /// Returns the build tags, which leave out file systems that need libraries in C.
    pub(super) fn tags(self) -> &'static str {
        match self {
            Self::Containerd | Self::Shim | Self::Ctr => "no_btrfs,no_devmapper,no_zfs",
            _ => "",
        }
    }

    /// Returns true if the program needs a C compiler: runc enters the namespaces of a container in C.
    pub(super) fn needs_c(self) -> bool {
        self == Self::Runc
    }

    /// Returns the folder below `tests/control-plane` whose go.mod pins the program.
    pub(super) fn go_mod_folder(self) -> &'static str {
        match self {
            Self::Kwok => "kwok",
            Self::Containerd | Self::Shim | Self::Ctr | Self::Runc => "node",
            Self::OpenTofu => "opentofu",
            Self::Tekton => "tekton",
            Self::ArgoWorkflows => "argo",
            Self::Kueue => "kueue",
            Self::SourceController => "source-controller",
            Self::KustomizeController => "kustomize-controller",
            Self::Helm4 => "helm4",
            Self::Helm3 => "helm3",
            _ => "kubernetes",
        }
    }

    /// Returns the product of the program, and the module that has its version.
    pub(super) fn product(self) -> (&'static str, &'static str) {
        match self {
            Self::Etcd => ("etcd", "go.etcd.io/etcd/server/v3"),
            Self::Kwok => ("kwok", "sigs.k8s.io/kwok"),
            Self::Containerd | Self::Shim | Self::Ctr => {
                ("containerd", "github.com/containerd/containerd/v2")
            }
            Self::Runc => ("runc", "github.com/opencontainers/runc"),
            Self::OpenTofu => ("opentofu", "github.com/opentofu/opentofu"),
            Self::Tekton => ("tekton", "github.com/tektoncd/pipeline"),
            Self::ArgoWorkflows => ("argo", "github.com/argoproj/argo-workflows/v3"),
            Self::Kueue => ("kueue", "sigs.k8s.io/kueue"),
            Self::SourceController => ("source-controller", "github.com/fluxcd/source-controller"),
            Self::KustomizeController => (
                "kustomize-controller",
                "github.com/fluxcd/kustomize-controller",
            ),
            Self::Helm4 => ("helm", "helm.sh/helm/v4"),
            Self::Helm3 => ("helm", "helm.sh/helm/v3"),
            _ => ("kubernetes", "k8s.io/kubernetes"),
        }
    }
}

/// The paths of the control plane's programs.
#[derive(Clone, Debug)]
pub struct Parts {
    found: Vec<(Part, PathBuf)>,
}

/// Reason why the control plane cannot start.
#[derive(Debug, Error)]
pub enum PartsError {
    /// Go is not installed.
    #[error(
        "the control plane needs {missing}, and neither a built copy nor Go was found\n\
         hint: install Go 1.26 or later (it is built once, about 6 minutes on two cores),\n\
         hint: or set KUBEBUILDER_ASSETS to a folder that holds {missing}"
    )]
    NoGo {
        /// The missing programs.
        missing: String,
    },
    /// Go could not build a program.
    #[error(
        "building {binary} failed: {reason}\nhint: to use ready-made programs instead, set \
         KUBEBUILDER_ASSETS to a folder that holds {binary}"
    )]
    Build {
        /// The program.
        binary: &'static str,
        /// The output of Go.
        reason: String,
    },
    /// The program is not built, and only a control plane may be built.
    #[error("{binary} is not built, and {} is `built`", build::ENGINES)]
    LeftOut {
        /// The program.
        binary: &'static str,
    },
    /// A go.mod lacks the version.
    #[error("{} has no version of {module}", .file.display())]
    NoVersion {
        /// The go.mod.
        file: PathBuf,
        /// The module that it should require.
        module: &'static str,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl Parts {
    /// Prepares the parts of a control plane of this size.
    pub(super) async fn of(demo: &Path, size: Size) -> anyhow::Result<Self> {
        let bare = [Part::Etcd, Part::ApiServer, Part::Kubectl];
        let controllers = [&bare[..], &[Part::ControllerManager]].concat();
        let wanted = match size {
            Size::Bare => bare.to_vec(),
            Size::Controllers => controllers,
            Size::Full => Part::ALL.to_vec(),
            Size::Containers => [&controllers[..], &[Part::Scheduler], &Part::NODE].concat(),
        };
        Self::prepared(demo, wanted).await
    }

    /// Does the same as [`Self::prepare`], for asynchronous callers.
    pub(super) async fn prepared(demo: &Path, wanted: Vec<Part>) -> anyhow::Result<Self> {
        let demo = demo.to_owned();
        let prepare = move || Self::prepare(&demo, &wanted, Progress::for_stderr());
        Ok(tokio::task::spawn_blocking(prepare).await??)
    }

    /// Finds the given parts and builds those that are neither in `KUBEBUILDER_ASSETS` nor built before.
    ///
    /// `demo` is the demo binary: built programs are kept beside its profile folder, in
    /// `<target>/control-plane/<product>-<version>`.
    pub fn prepare(demo: &Path, wanted: &[Part], progress: Progress) -> Result<Self, PartsError> {
        let assets = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for &part in wanted {
            let ready = assets.as_ref().map(|folder| folder.join(part.binary()));
            match ready.filter(|path| path.is_file()) {
                Some(path) => found.push((part, path)),
                None => missing.push(part),
            }
        }
        found.extend(build::built(demo, &missing, progress)?);
        Ok(Self { found })
    }

    /// Returns the path of a part.
    pub fn path(&self, part: Part) -> Result<&Path, PartsError> {
        self.found
            .iter()
            .find(|(found, _)| *found == part)
            .map(|(_, path)| path.as_path())
            .ok_or(PartsError::Build {
                binary: part.binary(),
                reason: "it was not asked for".to_owned(),
            })
    }
}
