module cartouche.dev/control-plane/kinds

go 1.26.0

// Only the definitions in these modules are used, none of their code.
require (
	github.com/cert-manager/cert-manager v1.18.2
	github.com/kubernetes-csi/external-snapshotter/client/v8 v8.2.0
)
