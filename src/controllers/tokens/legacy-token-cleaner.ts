import { dayOf, isDay } from "#api/authentication/legacy-token-dates.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { referencesOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { ignoreNotFound } from "#api/status.ts";
import { invalidSinceLabel, lastUsedLabel, legacyTokenTracking } from "#api/well-known.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";

export interface LegacyTokenOptions {
  /** How long a token must not have been used before it is marked, and then deleted; a year by default. */
  readonly cleanUpMs?: number;
}

const dayMs = 86_400_000;
const tokenType = "kubernetes.io/service-account-token";
const nameKey = "kubernetes.io/service-account.name";
const uidKey = "kubernetes.io/service-account.uid";

/** Marks generated tokens of service accounts that nobody uses, and deletes them if nobody objects. */
export const legacyTokenCleaner =
  ({ cleanUpMs = 365 * dayMs }: LegacyTokenOptions = {}) =>
  ({ client, informers, clock }: ReconcilerDeps): Reconciler<Secret> => {
    const accounts = informers.of(ServiceAccount);
    const pods = informers.of(Pod);
    const isMounted = ({ metadata: { namespace, name } }: Secret): boolean =>
      pods.list(namespace).some((pod) => referencesOf(pod).secrets.has(name));
    return {
      name: "legacy-serviceaccount-token-cleaner",
      reconciles: Secret,
      concerns: ({ type, metadata }) => type === tokenType && Boolean(metadata.annotations?.[nameKey]),
      resyncMs: dayMs,
      workers: 1,

      async reconcile(secret, signal) {
        const nowMs = clock.now();
        const { namespace, annotations } = secret.metadata;
        const account = accounts.get({ namespace, name: annotations?.[nameKey] ?? "" });
        const step = planLegacyToken(secret, account, { nowMs, cleanUpMs });
        if (!step || isMounted(secret)) return;
        const tracking = await client.get(ConfigMap, legacyTokenTracking, { signal }).catch(ignoreNotFound);
        if (nowMs < trackedSinceMs(tracking) + cleanUpMs) return;
        if (step === "delete") {
          const { resourceVersion = "" } = secret.metadata;
          await client.delete(Secret, secret, { preconditions: { resourceVersion }, signal }).catch(ignoreNotFound);
        } else {
          const body = { metadata: { uid: secret.metadata.uid, labels: { [invalidSinceLabel]: step.invalidSince } } };
          await client.patch(Secret, secret, { type: "merge", body }, { signal }).catch(ignoreNotFound);
        }
      },
    };
  };

/** Uses are known from the day after this server began to note them. */
function trackedSinceMs(tracking: Pick<ConfigMap, "data"> | undefined): number {
  const since = tracking?.data?.since;
  return isDay(since) ? Date.parse(since ?? "") + dayMs : Infinity;
}

/** What to do with a token that no pod uses; undefined if it stays. Only those that the account lists were generated. */
export function planLegacyToken(
  { metadata }: Secret,
  account: ServiceAccount | undefined,
  { nowMs, cleanUpMs }: { readonly nowMs: number; readonly cleanUpMs: number },
): { invalidSince: string } | "delete" | undefined {
  const { name, annotations = {}, labels = {}, creationTimestamp = "", deletionTimestamp } = metadata;
  const limit = dayOf(nowMs - cleanUpMs);
  if (deletionTimestamp || !(Date.parse(creationTimestamp) < nowMs - cleanUpMs)) return undefined;
  const lastUsed = labels[lastUsedLabel];
  if (lastUsed !== undefined && (!isDay(lastUsed) || lastUsed >= limit)) return undefined;
  const isOurs = account && (!annotations[uidKey] || annotations[uidKey] === account.metadata.uid);
  if (!isOurs || !account.secrets?.some((ref) => ref.name === name)) return undefined;
  const invalidSince = labels[invalidSinceLabel];
  if (invalidSince === undefined || !isDay(invalidSince)) return { invalidSince: dayOf(nowMs) };
  return invalidSince < limit ? "delete" : undefined;
}
