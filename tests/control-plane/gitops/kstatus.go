package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func byKstatus(object *unstructured.Unstructured) (verdict, error) {
	result, err := status.Compute(object)
	if err != nil {
		return verdict{}, err
	}
	return verdict{Status: result.Status.String(), Message: result.Message}, nil
}
