"""Shops as Deployments. Needs `kubernetes` from PyPI or Debian."""

import json
import queue
import threading
import time

from kubernetes import config, dynamic

MANAGER = "shop-operator"
LABELS = {"app.kubernetes.io/managed-by": MANAGER}

client = dynamic.DynamicClient(config.new_client_from_config())
shops = client.resources.get(api_version="example.com/v1", kind="Shop")
deployments = client.resources.get(api_version="apps/v1", kind="Deployment")
keys = queue.Queue()


def read(resource, namespace, name):
    try:
        return resource.get(namespace=namespace, name=name)
    except dynamic.exceptions.NotFoundError:
        return None


def reconcile(namespace, name):
    """Makes the Deployment of a shop as the shop wants it, and says how many of its pods are ready."""
    shop = read(shops, namespace, name)
    if shop is None or shop.metadata.deletionTimestamp:
        return
    selector = {"shop": name}
    owner = {"apiVersion": "example.com/v1", "kind": "Shop", "name": name, "uid": shop.metadata.uid, "controller": True}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name, "labels": LABELS, "ownerReferences": [owner]},
        "spec": {
            "replicas": shop.spec["size"],
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": selector},
                "spec": {"containers": [{"name": "shop", "image": shop.spec.image, "command": ["sleep", "infinity"]}]},
            },
        },
    }
    # As text: clients before version 24 cannot encode an apply.
    applied = deployments.patch(
        body=json.dumps(body),
        name=name,
        namespace=namespace,
        content_type="application/apply-patch+yaml",
        field_manager=MANAGER,
        force_conflicts=True,
    )
    ready = applied.status.readyReplicas or 0
    shops.status.patch(
        body={"status": {"ready": ready}},
        name=name,
        namespace=namespace,
        content_type="application/merge-patch+json",
    )


def follow(resource, **query):
    while True:
        try:
            for event in resource.watch(**query):
                metadata = event["object"].metadata
                keys.put((metadata.namespace, metadata.name))
        except Exception as error:  # The server restarted, for example.
            print(error, flush=True)
            time.sleep(1)


selector = f"app.kubernetes.io/managed-by={MANAGER}"
threading.Thread(target=follow, args=(shops,), daemon=True).start()
threading.Thread(target=follow, args=(deployments,), kwargs={"label_selector": selector}, daemon=True).start()
while True:
    key = keys.get()
    try:
        reconcile(*key)
    except Exception as error:
        print(key, error, flush=True)
        threading.Timer(1, keys.put, args=(key,)).start()
