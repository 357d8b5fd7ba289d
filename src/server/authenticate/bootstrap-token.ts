import { createHash, timingSafeEqual } from "node:crypto";
import { Secret } from "#api/core/secret.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";
import { type TokenAuthenticator } from "./bearer.ts";

/** Tokens by which new nodes join: Secrets of this type in kube-system, named after the first part of the token. */
const secretType = "bootstrap.kubernetes.io/token";
const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const defaultGroup = "system:bootstrappers";
const extraGroup = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export interface BootstrapTokenDeps {
  readonly informers: Informers;
  readonly clock: Clock;
}

/** `abcdef.0123456789abcdef`: the id names the Secret, the rest must be what it holds. */
export function bootstrapTokens({ informers, clock }: BootstrapTokenDeps): TokenAuthenticator {
  const secrets = informers.of(Secret);
  return {
    name: "bootstrap-token",
    authenticateToken(token) {
      const [, id, given] = (token.length <= 32 && tokenForm.exec(token)) || [];
      if (id === undefined || given === undefined) return undefined;
      const secret = secrets.get({ namespace: "kube-system", name: `bootstrap-token-${id}` });
      if (!secret || secret.metadata.deletionTimestamp || secret.type !== secretType) return undefined;
      const part = (name: string): string => Buffer.from(secret.data?.[name] ?? "", "base64").toString();
      const isRight = isSame(part("token-secret"), given) && part("token-id") === id;
      if (!isRight || isExpired(part("expiration"), clock.now())) return undefined;
      if (part("usage-bootstrap-authentication") !== "true") return undefined;
      const groups = groupsOf(part("auth-extra-groups"));
      return groups && { user: { name: `system:bootstrap:${id}`, groups } };
    },
  };
}

/** Takes the same time wherever the two differ. */
function isSame(kept: string, given: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(kept), digest(given));
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** A time that cannot be read counts as past. */
function isExpired(expiration: string, now: number): boolean {
  if (expiration === "") return false;
  const at = rfc3339.test(expiration) ? Date.parse(expiration) : Number.NaN;
  return !(at > now);
}

/** One wrong group makes the whole token invalid. */
function groupsOf(extra: string): string[] | undefined {
  const groups = new Set([defaultGroup]);
  for (const group of extra === "" ? [] : extra.split(",")) {
    if (!extraGroup.test(group)) return undefined;
    groups.add(group);
  }
  return [...groups].sort();
}
