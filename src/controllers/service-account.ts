import { Namespace } from "#api/core/namespace.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { isAlreadyExists } from "#api/status.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { isNamespaceEnding } from "./shared/namespace-ending.ts";

const name = "default";

/** Creates the account in every namespace that pods use by default. */
export function serviceAccountController({ client, informers }: ReconcilerDeps): Reconciler<Namespace> {
  const accounts = informers.of(ServiceAccount);
  return {
    name: "serviceaccount",
    reconciles: Namespace,
    watches: [
      watch(ServiceAccount, ({ type, object: { metadata } }) =>
        type === "delete" && metadata.name === name ? [{ name: metadata.namespace }] : [],
      ),
    ],

    async reconcile({ metadata, status }, signal) {
      const namespace = metadata.name;
      if (status.phase !== "Active" || accounts.get({ namespace, name })) return;
      try {
        await client.create(ServiceAccount, { metadata: { namespace, name } }, { signal });
      } catch (error) {
        if (!isAlreadyExists(error) && !isNamespaceEnding(error)) throw error;
      }
    },
  };
}
