// Command gitops does to Kubernetes objects what GitOps tools do, with the tools' own libraries.
//
// Its standard input is a sequence of JSON objects. What a tool says of each, one line of JSON each:
//
//	gitops kstatus        {"status": "InProgress", "message": "..."}     as Flux, kpt and Helm see it
//	gitops argocd FILE    {"status": "Progressing", "message": "..."}    as Argo CD sees it
//
// FILE is a Lua script as Argo CD takes it under resource.customizations.health.
//
// What a tool does when the objects are what Git has, on the cluster of KUBECONFIG:
//
//	gitops argocd-sync METHOD APPLICATION NAMESPACE    a self-healing sync with prune
//	gitops flux-sync NAME NAMESPACE [ENTRY...]         a reconciliation with prune
//
// METHOD is how Argo CD tracks its objects, label or annotation; ENTRY is of Flux's inventory, as the
// reconciliation before printed it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// No sync takes longer, even on a busy machine.
const syncPatience = 2 * time.Minute

// A verdict is what a tool says about an object.
type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type judge func(*unstructured.Unstructured) (verdict, error)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gitops:", err)
		os.Exit(1)
	}
}

func run(arguments []string, input io.Reader, output io.Writer) error {
	objects, err := read(input)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(output)
	ctx, cancel := context.WithTimeout(context.Background(), syncPatience)
	defer cancel()
	switch {
	case len(arguments) == 4 && arguments[0] == "argocd-sync":
		return told(lines)(argoSync(ctx, objects, tracking(arguments[1]), arguments[2], arguments[3]))
	case len(arguments) >= 3 && arguments[0] == "flux-sync":
		return told(lines)(fluxSync(ctx, objects, arguments[1], arguments[2], arguments[3:]))
	}
	judge, err := chosen(arguments)
	if err != nil {
		return err
	}
	for _, object := range objects {
		verdict, err := judge(object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if err := lines.Encode(verdict); err != nil {
			return err
		}
	}
	return nil
}

func told(lines *json.Encoder) func(any, error) error {
	return func(answer any, err error) error {
		if err != nil {
			return err
		}
		return lines.Encode(answer)
	}
}

func read(input io.Reader) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := json.NewDecoder(input)
	for {
		var text json.RawMessage
		switch err := decoder.Decode(&text); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		objects = append(objects, object)
	}
}

func chosen(arguments []string) (judge, error) {
	switch {
	case len(arguments) == 1 && arguments[0] == "kstatus":
		return byKstatus, nil
	case len(arguments) == 2 && arguments[0] == "argocd":
		script, err := os.ReadFile(arguments[1])
		if err != nil {
			return nil, err
		}
		return byScript(string(script)), nil
	default:
		return nil, errors.New("usage: gitops kstatus | gitops argocd FILE | " +
			"gitops argocd-sync METHOD APPLICATION NAMESPACE | gitops flux-sync NAME NAMESPACE [ENTRY...]")
	}
}
