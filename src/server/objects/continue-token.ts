import { badRequest } from "#api/status.ts";

/** Where a chunked list continues: after which key, and at which revision. Opaque to clients. */
export interface ContinueToken {
  /** -1: the first chunk's revision is gone; continue with the newest state. */
  readonly revision: number;
  /** The part of the last key after the Resource's prefix: `default/web`. */
  readonly after: string;
}

const version = "meta.k8s.io/v1";

export const encodeContinue = ({ revision, after }: ContinueToken): string =>
  Buffer.from(JSON.stringify({ v: version, rv: revision, start: after })).toString("base64url");

export function decodeContinue(token: string): ContinueToken {
  const fault = badRequest(
    "invalid continue token: continue key is not valid: it must be the value that the server sent with the previous chunk",
  );
  if (token.length > 4096) throw fault;
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
  } catch {
    throw fault;
  }
  const { v, rv, start } = (typeof parsed === "object" && parsed !== null ? parsed : {}) as Record<string, unknown>;
  if (v !== version || typeof rv !== "number" || !Number.isSafeInteger(rv) || rv < -1 || rv === 0) throw fault;
  if (typeof start !== "string" || start === "" || start.includes("..") || start.startsWith("/")) throw fault;
  return { revision: rv, after: start };
}
