// Command gitops says what GitOps tools make of Kubernetes objects.
//
// Its standard input is a sequence of JSON objects; for each it prints one line of JSON:
//
//	gitops kstatus        {"status": "InProgress", "message": "..."}     as Flux, kpt and Helm see it
//	gitops argocd FILE    {"status": "Progressing", "message": "..."}    as Argo CD sees it
//
// FILE is a Lua script as Argo CD takes it under resource.customizations.health.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
	judge, err := chosen(arguments)
	if err != nil {
		return err
	}
	objects := json.NewDecoder(input)
	verdicts := json.NewEncoder(output)
	for {
		var text json.RawMessage
		switch err := objects.Decode(&text); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading an object: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return fmt.Errorf("reading an object: %w", err)
		}
		verdict, err := judge(object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if err := verdicts.Encode(verdict); err != nil {
			return err
		}
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
		return nil, errors.New("usage: gitops kstatus | gitops argocd FILE")
	}
}
