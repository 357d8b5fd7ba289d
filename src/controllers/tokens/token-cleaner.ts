import { isBootstrapToken, readBootstrapToken } from "#api/authentication/bootstrap-token.ts";
import { Secret } from "#api/core/secret.ts";
import { ignoreNotFound } from "#api/status.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";

/** Deletes bootstrap tokens that have expired. */
export function tokenCleaner({ client, clock }: ReconcilerDeps): Reconciler<Secret> {
  return {
    name: "token-cleaner",
    reconciles: Secret,
    concerns: isBootstrapToken,

    async reconcile(secret, signal) {
      const leftMs = readBootstrapToken(secret).expiresMs - clock.now();
      if (leftMs > 0) return againAfter(leftMs);
      const { uid = "" } = secret.metadata;
      await client.delete(Secret, secret, { preconditions: { uid }, signal }).catch(ignoreNotFound);
      return undefined;
    },
  };
}
