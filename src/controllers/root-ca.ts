import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { type InputOf } from "#api/resource.ts";
import { isAlreadyExists, isNotFound } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { isNamespaceEnding } from "./shared/namespace-ending.ts";

const name = "kube-root-ca.crt";
const descriptionKey = "kubernetes.io/description";
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/** Puts the certificate by which pods verify the API server into every namespace. */
export const rootCaController =
  (rootCa: string) =>
  ({ client, informers }: ReconcilerDeps): Reconciler<Namespace> => {
    const configMaps = informers.of(ConfigMap);
    return {
      name: "root-ca-certificate-publisher",
      reconciles: Namespace,
      watches: [
        watch(ConfigMap, ({ object: { metadata } }) => (metadata.name === name ? [{ name: metadata.namespace }] : [])),
      ],

      async reconcile({ metadata, status }, signal) {
        const namespace = metadata.name;
        const current = configMaps.get({ namespace, name });
        const wanted = planRootCa(current, rootCa);
        if (!wanted || (!current && status.phase !== "Active")) return;
        if (current) {
          await client.update(ConfigMap, { ...current, ...wanted }, { signal });
          return;
        }
        try {
          await client.create(ConfigMap, { ...wanted, metadata: { ...wanted.metadata, namespace, name } }, { signal });
        } catch (error) {
          if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceEnding(error)) throw error;
        }
      },
    };
  };

/** What the config map must become; undefined if it is correct. */
export function planRootCa(current: InputOf<ConfigMap> | undefined, rootCa: string): InputOf<ConfigMap> | undefined {
  const data = { "ca.crt": rootCa };
  if (current && equal(current.data, data) && current.metadata?.annotations?.[descriptionKey]) return undefined;
  const annotations = { ...current?.metadata?.annotations, [descriptionKey]: description };
  return { metadata: { ...current?.metadata, annotations }, data };
}
