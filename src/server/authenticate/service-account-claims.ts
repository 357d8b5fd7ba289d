import { type UserInfo } from "#api/exchange.ts";
import { type JwtPart } from "#lib/crypto/jwt.ts";

/** The claims of a service account token. */
export interface ServiceAccountClaims {
  readonly namespace: string;
  readonly account: ObjectClaim;
  readonly pod?: ObjectClaim;
  readonly secret?: ObjectClaim;
  /** The Secret of a legacy token, which is valid only as long as it is stored there. */
  readonly homeSecret?: string;
  readonly node?: ObjectClaim;
  readonly id?: string;
  readonly audiences: readonly string[];
  readonly issuedMs?: number;
  readonly notBeforeMs?: number;
  readonly expiresMs?: number;
  /** A token that is used after this time should have been renewed. */
  readonly warnAfterMs?: number;
}
export interface ObjectClaim {
  readonly name: string;
  readonly uid: string;
}

/** The issuer of tokens in Secrets, whatever the cluster's issuer is. */
export const legacyIssuer = "kubernetes/serviceaccount";
const userPrefix = "system:serviceaccount:";

export const serviceAccountName = (namespace: string, name: string): string => `${userPrefix}${namespace}:${name}`;
export const serviceAccountGroups = (namespace: string): string[] => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`,
];

/** The namespace and name in a service account's user name. */
export function splitServiceAccountName(user: string): { namespace: string; name: string } | undefined {
  if (!user.startsWith(userPrefix)) return undefined;
  const [namespace, name, more] = user.slice(userPrefix.length).split(":");
  if (!namespace || !name || more !== undefined) return undefined;
  const isName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace) && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(name);
  return isName ? { namespace, name } : undefined;
}

/** The user that the token identifies. */
export function serviceAccountUser({ namespace, account, pod, node, id }: ServiceAccountClaims): UserInfo {
  const prefix = "authentication.kubernetes.io";
  const extra = {
    ...(id ? { [`${prefix}/credential-id`]: [`JTI=${id}`] } : {}),
    ...(pod ? { [`${prefix}/pod-name`]: [pod.name], [`${prefix}/pod-uid`]: [pod.uid] } : {}),
    ...(node ? { [`${prefix}/node-name`]: [node.name] } : {}),
    ...(node?.uid ? { [`${prefix}/node-uid`]: [node.uid] } : {}),
  };
  return {
    name: serviceAccountName(namespace, account.name),
    uid: account.uid,
    groups: serviceAccountGroups(namespace),
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  };
}

/** Returns undefined if a required claim is missing or malformed. */
export function readClaims(claims: JwtPart): ServiceAccountClaims | undefined {
  if (claims.iss === legacyIssuer) return readLegacyClaims(claims);
  const own = claims["kubernetes.io"];
  if (!isPart(own)) return undefined;
  const account = readObject(own.serviceaccount);
  if (typeof own.namespace !== "string" || !account) return undefined;
  const pod = readObject(own.pod);
  const secret = readObject(own.secret);
  const node = readObject(own.node);
  const warnAfterMs = readTime(own.warnafter);
  return {
    namespace: own.namespace,
    account,
    ...(pod ? { pod } : {}),
    ...(secret ? { secret } : {}),
    ...(node ? { node } : {}),
    ...(typeof claims.jti === "string" ? { id: claims.jti } : {}),
    ...readStandardClaims(claims),
    ...(warnAfterMs === undefined ? {} : { warnAfterMs }),
  };
}

function readStandardClaims(claims: JwtPart) {
  const issuedMs = readTime(claims.iat);
  const notBeforeMs = readTime(claims.nbf);
  const expiresMs = readTime(claims.exp);
  return {
    audiences: readAudiences(claims.aud),
    ...(issuedMs === undefined ? {} : { issuedMs }),
    ...(notBeforeMs === undefined ? {} : { notBeforeMs }),
    ...(expiresMs === undefined ? {} : { expiresMs }),
  };
}

/** Tokens in Secrets have flat claims, no expiry, and the uid of the account but not of the secret. */
function readLegacyClaims(claims: JwtPart): ServiceAccountClaims | undefined {
  const text = (name: string): string => {
    const value = claims[`kubernetes.io/serviceaccount/${name}`];
    return typeof value === "string" ? value : "";
  };
  const namespace = text("namespace");
  const account = { name: text("service-account.name"), uid: text("service-account.uid") };
  const secretName = text("secret.name");
  if (!namespace || !account.name || !account.uid || !secretName) return undefined;
  if (claims.sub !== serviceAccountName(namespace, account.name)) return undefined;
  return { namespace, account, homeSecret: secretName, ...readStandardClaims(claims) };
}

const isPart = (value: unknown): value is JwtPart => typeof value === "object" && value !== null;

function readObject(value: unknown): ObjectClaim | undefined {
  if (!isPart(value) || typeof value.name !== "string") return undefined;
  return { name: value.name, uid: typeof value.uid === "string" ? value.uid : "" };
}

const readTime = (value: unknown): number | undefined => (typeof value === "number" ? value * 1000 : undefined);

function readAudiences(value: unknown): readonly string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((name) => typeof name === "string");
}
