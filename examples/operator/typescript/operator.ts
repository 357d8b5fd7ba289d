import { KubeConfig, KubernetesObjectApi, type KubernetesObject, PatchStrategy, Watch } from "@kubernetes/client-node";

interface Shop extends KubernetesObject {
  spec: { image: string; size: number };
}
interface Deployment extends KubernetesObject {
  status?: { readyReplicas?: number };
}

const config = new KubeConfig();
config.loadFromDefault();
const api = KubernetesObjectApi.makeApiClient(config);
const manager = "shop-operator";
const labels = { "app.kubernetes.io/managed-by": manager };

const apply = (object: KubernetesObject): Promise<KubernetesObject> =>
  api.patch(object, undefined, undefined, manager, true, PatchStrategy.ServerSideApply);

/** Makes the Deployment of a shop as the shop wants it, and says how many of its pods are ready. */
async function reconcile(namespace: string, name: string): Promise<void> {
  const shop = await read<Shop>("example.com/v1", "Shop", { namespace, name });
  if (!shop || shop.metadata?.deletionTimestamp) return;
  const { image, size } = shop.spec;
  const selector = { shop: name };
  const owner = { apiVersion: "example.com/v1", kind: "Shop", name, uid: shop.metadata?.uid ?? "", controller: true };
  await apply({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name, labels, ownerReferences: [owner] },
    spec: {
      replicas: size,
      selector: { matchLabels: selector },
      template: { metadata: { labels: selector }, spec: { containers: [{ name: "shop", image, command: ["sleep", "infinity"] }] } },
    },
  } as KubernetesObject);
  const deployment = await read<Deployment>("apps/v1", "Deployment", { namespace, name });
  const ready = deployment?.status?.readyReplicas ?? 0;
  const path = `/apis/example.com/v1/namespaces/${encodeURIComponent(namespace)}/shops/${encodeURIComponent(name)}/status`;
  await patchStatus(path, { status: { ready } });
}

async function read<T extends KubernetesObject>(
  apiVersion: string,
  kind: string,
  metadata: { namespace: string; name: string },
): Promise<T | undefined> {
  try {
    return (await api.read({ apiVersion, kind, metadata })) as T;
  } catch (error) {
    if ((error as { code?: number }).code === 404) return undefined;
    throw error;
  }
}

async function patchStatus(path: string, patch: object): Promise<void> {
  const { request } = await import("node:https");
  const options = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
  await config.applyToHTTPSOptions(options);
  await new Promise<void>((resolve, reject) => {
    const outgoing = request(new URL(path, config.getCurrentCluster()?.server), options, (response) => {
      response.resume();
      response.on("end", resolve);
    });
    outgoing.on("error", reject);
    outgoing.end(JSON.stringify(patch));
  });
}

const waiting = new Set<string>();

/** Each object once at a time, and again if it changed meanwhile. */
async function enqueue(key: string): Promise<void> {
  const isIdle = waiting.size === 0;
  waiting.add(key);
  if (!isIdle) return;
  for (const next of waiting) {
    const [namespace = "", name = ""] = next.split("/");
    waiting.delete(next);
    waiting.add("");
    await reconcile(namespace, name).catch((error: unknown) => {
      console.error(`${next}: ${String(error)}`);
      setTimeout(() => void enqueue(next), 1000);
    });
    waiting.delete("");
  }
}

async function follow(path: string, query: Record<string, string>): Promise<void> {
  const again = (): void => void setTimeout(() => void follow(path, query), 1000);
  const onEvent = (_: string, { metadata }: KubernetesObject): void =>
    void enqueue(`${metadata?.namespace}/${metadata?.name}`);
  await new Watch(config).watch(path, query, onEvent, again).catch(again);
}

await follow("/apis/example.com/v1/shops", {});
await follow("/apis/apps/v1/deployments", { labelSelector: `app.kubernetes.io/managed-by=${manager}` });
