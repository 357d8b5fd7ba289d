import { randomInt } from "node:crypto";
import {
  bootstrapTokenNamespace,
  bootstrapTokenPrefix,
  bootstrapTokenType,
  isBootstrapToken,
} from "#api/authentication/bootstrap-token.ts";
import { Secret } from "#api/core/secret.ts";
import { type Client } from "#client/client.ts";
import { joinTokenGroup } from "./node-identity.ts";

export interface NewToken {
  /** `abcdef.0123456789abcdef`; by default a random one. */
  readonly token?: string | undefined;
  /** undefined: it never expires. */
  readonly expiresMs: number | undefined;
  readonly description?: string | undefined;
  readonly groups?: readonly string[];
  readonly usages?: readonly TokenUsage[];
}

export const tokenUsages = ["signing", "authentication"] as const;
export type TokenUsage = (typeof tokenUsages)[number];

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
const randomText = (length: number): string =>
  Array.from({ length }, () => letters.charAt(randomInt(letters.length))).join("");

/** Stores a token by which machines may join, as kubeadm does. Resolves with the token. */
export async function createJoinToken(client: Client, options: NewToken): Promise<string> {
  const { token = `${randomText(6)}.${randomText(16)}`, expiresMs, description } = options;
  const [id = "", secret = ""] = token.split(".");
  const { groups = [joinTokenGroup], usages = tokenUsages } = options;
  const stringData = {
    "token-id": id,
    "token-secret": secret,
    ...(expiresMs === undefined ? {} : { expiration: new Date(expiresMs).toISOString().replace(/\.\d+Z$/, "Z") }),
    ...(description ? { description } : {}),
    ...(groups.length > 0 ? { "auth-extra-groups": groups.join(",") } : {}),
    ...Object.fromEntries(usages.map((usage) => [`usage-bootstrap-${usage}`, "true"])),
  };
  const metadata = { namespace: bootstrapTokenNamespace, name: `${bootstrapTokenPrefix}${id}` };
  await client.create(Secret, { metadata, type: bootstrapTokenType, stringData });
  return token;
}

/** The Secrets of all tokens. */
export async function listJoinTokens(client: Client): Promise<readonly Secret[]> {
  const { items } = await client.list(Secret, {
    namespace: bootstrapTokenNamespace,
    fieldSelector: `type=${bootstrapTokenType}`,
  });
  return items.filter(isBootstrapToken);
}
