package main

import (
	"context"
	"os"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A fluxOutcome is what Flux does.
type fluxOutcome struct {
	// Applied has for each object of Git whether it was created, configured, or unchanged.
	Applied map[string]string `json:"applied"`
	// Pruned has for each entry of the inventory that Git no longer has what became of it.
	Pruned map[string]string `json:"pruned"`
	// Inventory is what Flux remembers until the next time.
	Inventory []string `json:"inventory"`
}

// fluxSync is a reconciliation of a Kustomization with prune. Flux's library finds the drift, applies
// and deletes. What is to be deleted is told by the inventory, as kustomize-controller does: what was
// applied before and is not in Git now, if it has the labels of the Kustomization.
func fluxSync(ctx context.Context, objects []*unstructured.Unstructured, name, namespace string, inventory []string) (fluxOutcome, error) {
	outcome := fluxOutcome{Applied: map[string]string{}, Pruned: map[string]string{}, Inventory: []string{}}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return outcome, err
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return outcome, err
	}
	owner := ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}
	flux := ssa.NewResourceManager(cluster, nil, owner)
	for _, object := range objects {
		if object.GetKind() != "ClusterRunTemplate" {
			object.SetNamespace(namespace)
		}
	}
	flux.SetOwnerLabels(objects, name, namespace)
	applied, err := flux.ApplyAll(ctx, objects, ssa.DefaultApplyOptions())
	if err != nil {
		return outcome, err
	}
	kept := object.ObjMetadataSet{}
	for _, entry := range applied.Entries {
		outcome.Applied[entry.ObjMetadata.GroupKind.Kind+"/"+entry.ObjMetadata.Name] = entry.Action.String()
		outcome.Inventory = append(outcome.Inventory, entry.ObjMetadata.String()+"#"+entry.GroupVersion)
		kept = append(kept, entry.ObjMetadata)
	}
	return outcome, prune(ctx, flux, inventory, kept, flux.GetOwnerLabels(name, namespace), outcome.Pruned)
}

// prune deletes what the inventory has and Git has not.
func prune(ctx context.Context, flux *ssa.ResourceManager, inventory []string, kept object.ObjMetadataSet, labels map[string]string, pruned map[string]string) error {
	var stale []*unstructured.Unstructured
	for _, text := range inventory {
		id, version, _ := strings.Cut(text, "#")
		entry, err := object.ParseObjMetadata(id)
		if err != nil {
			return err
		}
		if kept.Contains(entry) {
			continue
		}
		gone := &unstructured.Unstructured{}
		gone.SetGroupVersionKind(entry.GroupKind.WithVersion(version))
		gone.SetName(entry.Name)
		gone.SetNamespace(entry.Namespace)
		stale = append(stale, gone)
	}
	options := ssa.DefaultDeleteOptions()
	options.Inclusions = labels
	changes, err := flux.DeleteAll(ctx, stale, options)
	for _, entry := range changes.Entries {
		pruned[entry.ObjMetadata.GroupKind.Kind+"/"+entry.ObjMetadata.Name] = entry.Action.String()
	}
	return err
}
