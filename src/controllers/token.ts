import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type InputOf } from "#api/resource.ts";
import { ignoreNotFound } from "#api/status.ts";
import { type Client, type ObjectRef } from "#client/client.ts";
import { type JwtPart } from "#lib/crypto/jwt.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";

export interface TokenOptions {
  /** The certificates, in PEM, by which pods verify the API server. */
  readonly rootCa: string;
  /** Signs the claims of a token that never expires. */
  sign(claims: JwtPart): string;
}

const tokenType = "kubernetes.io/service-account-token";
const nameKey = "kubernetes.io/service-account.name";
const uidKey = "kubernetes.io/service-account.uid";
const byAccount = "tokenSecretAccount";

/**
 * Fills the Secrets in which users ask for a token that does not expire, and deletes them together with their account.
 */
export const tokenController =
  (options: TokenOptions) =>
  ({ client, informers }: ReconcilerDeps): Reconciler<Secret> => {
    const secrets = informers.of(Secret);
    const accounts = informers.of(ServiceAccount);
    secrets.addIndex(byAccount, accountKeys);
    return {
      name: "tokens",
      reconciles: Secret,
      concerns: isToken,
      watches: [
        watch(ServiceAccount, ({ object: { metadata } }) =>
          secrets.by(byAccount, keyOf(metadata.namespace, metadata.name)).map((secret) => secret.metadata),
        ),
      ],

      async reconcile(secret, signal) {
        const { namespace, name, uid = "" } = secret.metadata;
        const owner = { namespace, name: accountOf(secret) };
        const known = planToken(secret, accounts.get(owner), options);
        // The informer may not show the account yet, and what is deleted does not come back.
        const plan = known === "delete" ? planToken(secret, await read(client, owner, signal), options) : known;
        if (plan === "delete") {
          const preconditions = { uid };
          await client.delete(Secret, { namespace, name }, { preconditions, signal }).catch(ignoreNotFound);
        } else if (plan) await client.update(Secret, plan, { signal }).catch(ignoreNotFound);
      },

      async gone({ namespace, name }, signal) {
        for (const account of accounts.list(namespace)) {
          if (!account.secrets?.some((ref) => ref.name === name)) continue;
          const left = account.secrets.filter((ref) => ref.name !== name);
          await client.update(ServiceAccount, { ...account, secrets: left }, { signal });
        }
      },
    };
  };

const read = (client: Client, account: ObjectRef, signal: AbortSignal): Promise<ServiceAccount | undefined> =>
  client.get(ServiceAccount, account, { signal }).catch(ignoreNotFound);

const isToken = ({ type, metadata }: Secret): boolean => type === tokenType && Boolean(metadata.annotations?.[nameKey]);
const accountOf = ({ metadata }: Secret): string => metadata.annotations?.[nameKey] ?? "";
const accountKeys = (secret: Secret): readonly string[] =>
  isToken(secret) ? [keyOf(secret.metadata.namespace, accountOf(secret))] : [];
/** Neither part can contain a slash. */
const keyOf = (namespace: string, account: string): string => `${namespace}/${account}`;

/** What a Secret must become; undefined if it is right. The token of an account that is gone is deleted. */
export function planToken(
  secret: Secret,
  account: ServiceAccount | undefined,
  { rootCa, sign }: TokenOptions,
): InputOf<Secret> | "delete" | undefined {
  const { namespace, name, annotations = {} } = secret.metadata;
  const wanted = annotations[uidKey];
  if (!account || (wanted && wanted !== account.metadata.uid)) return "delete";
  const { data = {} } = secret;
  const ca = encoded(rootCa);
  if (data["ca.crt"] === ca && data.namespace && data.token) return undefined;
  const { uid = "" } = account.metadata;
  return {
    ...secret,
    metadata: { ...secret.metadata, annotations: { ...annotations, [uidKey]: uid } },
    data: {
      ...data,
      "ca.crt": ca,
      namespace: data.namespace || encoded(namespace),
      token: data.token || encoded(sign(claimsOf({ namespace, secret: name, account: account.metadata.name, uid }))),
    },
  };
}

const encoded = (text: string): string => Buffer.from(text).toString("base64");

/** The claims of tokens in Secrets are flat, and have neither audience nor expiry. */
function claimsOf(token: { namespace: string; secret: string; account: string; uid: string }): JwtPart {
  const prefix = "kubernetes.io/serviceaccount";
  return {
    iss: prefix.replace(".io", ""),
    [`${prefix}/namespace`]: token.namespace,
    [`${prefix}/secret.name`]: token.secret,
    [`${prefix}/service-account.name`]: token.account,
    [`${prefix}/service-account.uid`]: token.uid,
    sub: `system:serviceaccount:${token.namespace}:${token.account}`,
  };
}
