// Shops as Deployments.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const manager = "shop-operator"

var (
	shops       = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "shops"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// reconcile makes the Deployment of a shop as the shop wants it, and says how many of its pods are ready.
func reconcile(ctx context.Context, client dynamic.Interface, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	shop, err := client.Resource(shops).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if errors.IsNotFound(err) || (err == nil && shop.GetDeletionTimestamp() != nil) {
		return nil
	} else if err != nil {
		return err
	}
	image, _, _ := unstructured.NestedString(shop.Object, "spec", "image")
	size, _, _ := unstructured.NestedInt64(shop.Object, "spec", "size")
	selector := map[string]any{"shop": name}
	owner := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Shop", "name": name, "uid": string(shop.GetUID()), "controller": true,
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata": map[string]any{
			"namespace": namespace, "name": name, "ownerReferences": []any{owner},
			"labels": map[string]any{"app.kubernetes.io/managed-by": manager},
		},
		"spec": map[string]any{
			"replicas": size,
			"selector": map[string]any{"matchLabels": selector},
			"template": map[string]any{
				"metadata": map[string]any{"labels": selector},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "shop", "image": image, "command": []any{"sleep", "infinity"}}}},
			},
		},
	}}
	force := metav1.ApplyOptions{FieldManager: manager, Force: true}
	applied, err := client.Resource(deployments).Namespace(namespace).Apply(ctx, name, wanted, force)
	if err != nil {
		return err
	}
	ready, _, _ := unstructured.NestedInt64(applied.Object, "status", "readyReplicas")
	patch := []byte(fmt.Sprintf(`{"status":{"ready":%d}}`, ready))
	_, err = client.Resource(shops).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func main() {
	ctx := context.Background()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		log.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(config)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	owned := func(options *metav1.ListOptions) { options.LabelSelector = "app.kubernetes.io/managed-by=" + manager }
	for resource, tweak := range map[schema.GroupVersionResource]dynamicinformer.TweakListOptionsFunc{shops: nil, deployments: owned} {
		informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, "", time.Hour, cache.Indexers{}, tweak).Informer()
		handler := cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add}
		if _, err := informer.AddEventHandler(handler); err != nil {
			log.Fatal(err)
		}
		go informer.Run(ctx.Done())
	}
	for {
		key, _ := queue.Get()
		if err := reconcile(ctx, client, key); err != nil {
			log.Println(key, err)
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
