// Validates manifests like a cluster: refuses unknown fields, and checks Knative services like its admission webhook.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"knative.dev/pkg/apis"
	"knative.dev/serving/pkg/apis/config"
	servingv1 "knative.dev/serving/pkg/apis/serving/v1"
	"sigs.k8s.io/yaml"
)

// empty returns a new object of a kind, or nil.
func empty(apiVersion, kind string) any {
	switch apiVersion + " " + kind {
	case "v1 Namespace":
		return &corev1.Namespace{}
	case "v1 Secret":
		return &corev1.Secret{}
	case "v1 Service":
		return &corev1.Service{}
	case "v1 ServiceAccount":
		return &corev1.ServiceAccount{}
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return &autoscalingv2.HorizontalPodAutoscaler{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networkingv1.NetworkPolicy{}
	case "policy/v1 PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	case "serving.knative.dev/v1 Service":
		return &servingv1.Service{}
	}
	return nil
}

// withVolumes allows volume claims, which Knative does not allow by default.
func withVolumes(ctx context.Context) context.Context {
	settings := config.FromContextOrDefaults(ctx)
	settings.Features.PodSpecPersistentVolumeClaim = config.Enabled
	return config.ToContext(ctx, settings)
}

func check(document []byte) (string, error) {
	var meta struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(document, &meta); err != nil {
		return "?", err
	}
	name := meta.APIVersion + " " + meta.Kind
	object := empty(meta.APIVersion, meta.Kind)
	if object == nil {
		return name, errors.New("unknown kind")
	}
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return name, err
	}
	if service, ok := object.(*servingv1.Service); ok {
		ctx := apis.WithinCreate(withVolumes(context.Background()))
		service.SetDefaults(ctx)
		if err := service.Validate(ctx); err != nil {
			return name, err
		}
	}
	return name, nil
}

// isEmpty reports whether a document has only comments.
func isEmpty(document []byte) bool {
	var contents any
	return yaml.Unmarshal(document, &contents) == nil && contents == nil
}

func main() {
	failed := false
	for _, path := range os.Args[1:] {
		contents, err := os.ReadFile(path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(contents)))
		for {
			document, err := documents.Read()
			if err == io.EOF {
				break
			}
			if err == nil && isEmpty(document) {
				continue
			}
			name := "?"
			if err == nil {
				name, err = check(document)
			}
			if err != nil {
				failed = true
				fmt.Printf("FAIL  %s: %s: %v\n", path, name, err)
				continue
			}
			fmt.Printf("pass  %s: %s\n", path, name)
		}
	}
	if failed {
		os.Exit(1)
	}
}
