import { type Secret } from "#api/core/secret.ts";

/** Where and as what bootstrap tokens are kept: Secrets of this type, named after the first part of the token. */
export const bootstrapTokenType = "bootstrap.kubernetes.io/token";
export const bootstrapTokenNamespace = "kube-system";
export const bootstrapTokenPrefix = "bootstrap-token-";

/** The first part of a token. */
export const bootstrapTokenId = /^[a-z0-9]{6}$/;
/** A whole token, `abcdef.0123456789abcdef`, in its two parts. */
export const bootstrapTokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

/** What a Secret says about the token in it. Nothing of it is checked, except for the time. */
export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
  /** Infinity: never. A time that cannot be read counts as past. */
  readonly expiresMs: number;
  /** Whether it proves who its bearer is. */
  readonly authenticates: boolean;
  /** Whether it signs the information about the cluster. */
  readonly signs: boolean;
  readonly extraGroups: string;
}

export const isBootstrapToken = ({ type, metadata }: Secret): boolean =>
  type === bootstrapTokenType && metadata.namespace === bootstrapTokenNamespace;

export function readBootstrapToken({ data = {} }: Secret): BootstrapToken {
  const part = (name: string): string => Buffer.from(data[name] ?? "", "base64").toString();
  return {
    id: part("token-id"),
    secret: part("token-secret"),
    expiresMs: expiryOf(part("expiration")),
    authenticates: part("usage-bootstrap-authentication") === "true",
    signs: part("usage-bootstrap-signing") === "true",
    extraGroups: part("auth-extra-groups"),
  };
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function expiryOf(expiration: string): number {
  if (expiration === "") return Infinity;
  const at = rfc3339.test(expiration) ? Date.parse(expiration) : Number.NaN;
  return Number.isNaN(at) ? -Infinity : at;
}
