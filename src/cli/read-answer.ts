import { statusErrorFrom } from "#api/status.ts";
import { type Client } from "#client/client.ts";

/** GETs a path that is not about a resource. */
export async function readAnswer<T>(client: Client, path: string): Promise<T> {
  const { status, body } = await client.raw("GET", path);
  const value = JSON.parse(Buffer.from(body).toString()) as unknown;
  if (status >= 400) throw statusErrorFrom({ code: status, ...(value as object) });
  return value as T;
}
