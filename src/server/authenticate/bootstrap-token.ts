import { createHash, timingSafeEqual } from "node:crypto";
import {
  bootstrapTokenForm,
  bootstrapTokenNamespace,
  bootstrapTokenPrefix,
  bootstrapTokenType,
  readBootstrapToken,
} from "#api/authentication/bootstrap-token.ts";
import { Secret } from "#api/core/secret.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";
import { type TokenAuthenticator } from "./bearer.ts";

const defaultGroup = "system:bootstrappers";
const extraGroup = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export interface BootstrapTokenDeps {
  readonly informers: Informers;
  readonly clock: Clock;
}

/** Tokens by which new nodes join, `abcdef.0123456789abcdef`: the id names the Secret, the rest must be what it holds. */
export function bootstrapTokens({ informers, clock }: BootstrapTokenDeps): TokenAuthenticator {
  const secrets = informers.of(Secret);
  return {
    name: "bootstrap-token",
    authenticateToken(token) {
      const [, id, given] = (token.length <= 32 && bootstrapTokenForm.exec(token)) || [];
      if (id === undefined || given === undefined) return undefined;
      const secret = secrets.get({ namespace: bootstrapTokenNamespace, name: `${bootstrapTokenPrefix}${id}` });
      if (!secret || secret.metadata.deletionTimestamp || secret.type !== bootstrapTokenType) return undefined;
      const kept = readBootstrapToken(secret);
      const isRight = isSame(kept.secret, given) && kept.id === id;
      if (!isRight || kept.expiresMs <= clock.now() || !kept.authenticates) return undefined;
      const groups = groupsOf(kept.extraGroups);
      return groups && { user: { name: `system:bootstrap:${id}`, groups } };
    },
  };
}

/** Takes the same time wherever the two differ. */
function isSame(kept: string, given: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(kept), digest(given));
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
