import {
  bootstrapTokenId,
  bootstrapTokenNamespace,
  bootstrapTokenPrefix,
  isBootstrapToken,
  readBootstrapToken,
} from "#api/authentication/bootstrap-token.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Secret } from "#api/core/secret.ts";
import { ignoreNotFound } from "#api/status.ts";
import { detachedSignature } from "#lib/crypto/detached-signature.ts";
import { equal } from "#lib/data/equal.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";

const place = { namespace: "kube-public", name: "cluster-info" };
const signaturePrefix = "jws-kubeconfig-";
const byType = "bootstrapTokens";

/** Signs what new nodes read about the cluster with their tokens, so that they can trust it without a certificate. */
export function bootstrapSigner({ client, informers, clock }: ReconcilerDeps): Reconciler<ConfigMap> {
  const secrets = informers.of(Secret);
  secrets.addIndex(byType, typeOf);
  return {
    name: "bootstrap-signer",
    reconciles: ConfigMap,
    concerns: ({ metadata }) => metadata.name === place.name && metadata.namespace === place.namespace,
    watches: [watch(Secret, ({ object }) => (isBootstrapToken(object) ? [place] : []))],

    async reconcile(info, signal) {
      const { data, againMs } = planSignatures(info, secrets.by(byType, bootstrapTokenNamespace), clock.now());
      if (!equal(data, info.data)) {
        await client.update(ConfigMap, { ...info, data }, { signal }).catch(ignoreNotFound);
      }
      return againAfter(againMs);
    },
  };
}

const typeOf = (secret: Secret): readonly string[] => (isBootstrapToken(secret) ? [bootstrapTokenNamespace] : []);

/** The data with one signature for each token that signs, and when the first of them expires. */
export function planSignatures(
  { data = {} }: Pick<ConfigMap, "data">,
  secrets: readonly Secret[],
  nowMs: number,
): { data: Record<string, string>; againMs: number } {
  const content = data.kubeconfig;
  if (content === undefined) return { data, againMs: Infinity };
  const tokens = secrets.flatMap((secret) => {
    const token = readBootstrapToken(secret);
    const isNamed = bootstrapTokenId.test(token.id) && secret.metadata.name === `${bootstrapTokenPrefix}${token.id}`;
    return isNamed && token.secret && token.signs && token.expiresMs > nowMs ? [token] : [];
  });
  const others = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix));
  const signatures = tokens.map((token) => [`${signaturePrefix}${token.id}`, detachedSignature(content, token)]);
  return {
    data: Object.fromEntries([...others, ...signatures]),
    againMs: tokens.reduce((least, { expiresMs }) => Math.min(least, expiresMs - nowMs), Infinity),
  };
}
