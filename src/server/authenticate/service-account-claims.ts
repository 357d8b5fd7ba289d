import { type UserInfo } from "#api/exchange.ts";
import { type JwtPart } from "#lib/crypto/jwt.ts";

/** What a service account token says about its bearer. */
export interface ServiceAccountClaims {
  readonly namespace: string;
  readonly account: ObjectClaim;
  readonly pod?: ObjectClaim;
  readonly secret?: ObjectClaim;
  /** The Secret that a token of the old kind lives in: good for as long as it stands there. */
  readonly homeSecret?: string;
  readonly node?: ObjectClaim;
  readonly id?: string;
  readonly audiences: readonly string[];
  readonly issuedMs?: number;
  readonly notBeforeMs?: number;
  readonly expiresMs?: number;
  /** A token that is used after this should have been renewed. */
  readonly warnAfterMs?: number;
}
export interface ObjectClaim {
  readonly name: string;
  readonly uid: string;
}

/** Tokens that live in Secrets come from here, whatever the cluster's issuer is. */
export const legacyIssuer = "kubernetes/serviceaccount";
const userPrefix = "system:serviceaccount:";

export const serviceAccountName = (namespace: string, name: string): string => `${userPrefix}${namespace}:${name}`;
export const serviceAccountGroups = (namespace: string): string[] => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`,
];

/** Namespace and name of a service account's user name. */
export function splitServiceAccountName(user: string): { namespace: string; name: string } | undefined {
  if (!user.startsWith(userPrefix)) return undefined;
  const [namespace, name, more] = user.slice(userPrefix.length).split(":");
  if (!namespace || !name || more !== undefined) return undefined;
  const isName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace) && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(name);
  return isName ? { namespace, name } : undefined;
}

/** The user that the bearer of a token is. */
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

/** undefined: a claim that must be there is missing or has the wrong form. */
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

/** Tokens that live in Secrets have flat claims, no end, and name the account's uid but not the secret's. */
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
