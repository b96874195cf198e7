package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/engine"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

// Where Argo CD writes the application that an object belongs to.
const (
	trackingLabel      = "app.kubernetes.io/instance"
	trackingAnnotation = "argocd.argoproj.io/tracking-id"
)

// tracking is how Argo CD knows its objects: by label or by annotation.
type tracking string

// An argoOutcome is what Argo CD finds and does.
type argoOutcome struct {
	// Managed are the live objects that it takes for the application's.
	Managed []string `json:"managed"`
	// Carrying are the live objects with the mark of the application, whether it takes them or not.
	Carrying []string `json:"carrying"`
	// OutOfSync are those that differ from Git, or are not in Git.
	OutOfSync []string `json:"outOfSync"`
	// Results has for each object what the sync did, such as Synced or Pruned.
	Results map[string]string `json:"results"`
}

// What Argo CD remembers of every object in its cache.
type resource struct{ application, mark string }

// argoSync is a sync of an application that heals and prunes. Argo CD's engine watches the namespace,
// compares, applies and prunes. How it is told which objects are the application's is
// Argo CD's controller/cache: those with its mark that have no owner.
func argoSync(ctx context.Context, objects []*unstructured.Unstructured, method tracking, application, namespace string) (argoOutcome, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return argoOutcome{}, err
	}
	config.QPS, config.Burst = 100, 200
	for _, object := range objects {
		method.mark(object, application, namespace)
	}
	remember := func(object *unstructured.Unstructured, isRoot bool) (any, bool) {
		known := &resource{mark: method.application(object)}
		if isRoot {
			known.application = known.mark
		}
		return known, known.application != ""
	}
	live := cache.NewClusterCache(config,
		cache.SetNamespaces([]string{namespace}),
		cache.SetClusterResources(true),
		cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(remember))
	argo := engine.NewEngine(config, live, engine.WithLogr(logr.Discard()))
	stop, err := argo.Run()
	if err != nil {
		return argoOutcome{}, err
	}
	defer stop()

	isManaged := func(r *cache.Resource) bool { return r.Info.(*resource).application == application }
	outcome, err := compare(live, objects, isManaged, application, namespace)
	if err != nil {
		return outcome, err
	}
	results, err := argo.Sync(ctx, objects, isManaged, "main", namespace, sync.WithPrune(true), sync.WithLogr(logr.Discard()))
	for _, result := range results {
		outcome.Results[named(result.ResourceKey.Kind, result.ResourceKey.Name)] = string(result.Status)
	}
	return outcome, err
}

// compare says what Argo CD shows as out of sync.
func compare(live cache.ClusterCache, objects []*unstructured.Unstructured, isManaged func(*cache.Resource) bool, application, namespace string) (argoOutcome, error) {
	outcome := argoOutcome{Results: map[string]string{}, Managed: []string{}, Carrying: []string{}, OutOfSync: []string{}}
	managed, err := live.GetManagedLiveObjs(objects, isManaged)
	if err != nil {
		return outcome, err
	}
	for key := range managed {
		outcome.Managed = append(outcome.Managed, named(key.Kind, key.Name))
	}
	for key, r := range live.FindResources(namespace) {
		if r.Info.(*resource).mark == application {
			outcome.Carrying = append(outcome.Carrying, named(key.Kind, key.Name))
		}
	}
	pairs := sync.Reconcile(objects, managed, namespace, live)
	differences, err := diff.DiffArray(pairs.Target, pairs.Live, diff.WithLogr(logr.Discard()))
	if err != nil {
		return outcome, err
	}
	for index, difference := range differences.Diffs {
		object := pairs.Target[index]
		if object == nil {
			object = pairs.Live[index]
		}
		if difference.Modified || pairs.Target[index] == nil {
			outcome.OutOfSync = append(outcome.OutOfSync, named(object.GetKind(), object.GetName()))
		}
	}
	sort.Strings(outcome.Managed)
	sort.Strings(outcome.Carrying)
	sort.Strings(outcome.OutOfSync)
	return outcome, nil
}

// mark marks an object as Argo CD does before it applies it.
func (method tracking) mark(object *unstructured.Unstructured, application, namespace string) {
	if method == "label" {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[trackingLabel] = application
		object.SetLabels(labels)
		return
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	in := object.GetNamespace()
	if in == "" {
		in = namespace
	}
	kind := object.GroupVersionKind().GroupKind()
	annotations[trackingAnnotation] = fmt.Sprintf("%s:%s/%s:%s/%s", application, kind.Group, kind.Kind, in, object.GetName())
	object.SetAnnotations(annotations)
}

// application is the one that an object's mark names.
func (method tracking) application(object *unstructured.Unstructured) string {
	if method == "label" {
		return object.GetLabels()[trackingLabel]
	}
	application, _, _ := strings.Cut(object.GetAnnotations()[trackingAnnotation], ":")
	return application
}

func named(kind, name string) string { return kind + "/" + name }
