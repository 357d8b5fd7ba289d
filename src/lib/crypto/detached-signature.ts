import { createHmac } from "node:crypto";

/** A JSON web signature (HS256) without the content, which the reader has (RFC 7515, appendix F). */
export function detachedSignature(
  content: string,
  { id, secret }: { readonly id: string; readonly secret: string },
): string {
  const header = base64(JSON.stringify({ alg: "HS256", kid: id }));
  const signature = createHmac("sha256", secret)
    .update(`${header}.${base64(content)}`)
    .digest("base64url");
  return `${header}..${signature}`;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64url");
