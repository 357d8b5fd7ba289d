import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { type InputOf } from "#api/resource.ts";
import { equal } from "#lib/data/equal.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";

const source = { namespace: "default", name: "settings" };
const isAsking = ({ metadata }: Namespace): boolean => metadata.labels?.settings === "shared";

/** Gives every namespace with the label `settings: shared` a copy of the config map `default/settings`. */
export function sharedSettings({ client, informers }: ReconcilerDeps): Reconciler<Namespace> {
  const namespaces = informers.of(Namespace);
  const configMaps = informers.of(ConfigMap);
  return {
    name: "shared-settings",
    reconciles: Namespace,
    watches: [
      // A change of the original concerns every namespace; a change of a copy concerns only its own.
      watch(ConfigMap, ({ object: { metadata } }) => {
        if (metadata.name !== source.name) return [];
        const concerned = metadata.namespace === source.namespace ? namespaces.list().filter(isAsking) : [];
        return [{ name: metadata.namespace }, ...concerned.map((one) => one.metadata)];
      }),
    ],

    async reconcile(namespace, signal) {
      const place = { namespace: namespace.metadata.name, name: source.name };
      const wanted = planCopy(namespace, configMaps.get(source));
      if (!wanted || equal(configMaps.get(place)?.data, wanted.data)) return;
      await client.apply(ConfigMap, wanted, { fieldManager: "shared-settings", force: true, signal });
    },
  };
}

/** Decides, without acting, what the namespace's copy should be; undefined if it should have none. */
export function planCopy(namespace: Namespace, original: ConfigMap | undefined): InputOf<ConfigMap> | undefined {
  const { name, deletionTimestamp } = namespace.metadata;
  if (!isAsking(namespace) || deletionTimestamp || !original || name === source.namespace) return undefined;
  return { metadata: { namespace: name, name: source.name }, data: original.data ?? {} };
}
