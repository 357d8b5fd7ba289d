import type { SecretReference, VolumeContext } from "../plugin.ts";

/** The content of a Secret that a driver needs for a call. */
export async function secretData(
  context: VolumeContext,
  ref: SecretReference | undefined,
): Promise<Record<string, string>> {
  if (!ref?.name) return {};
  const secret = await context.sources.secret(ref.namespace ?? "", ref.name);
  if (!secret) throw new Error(`secret "${ref.name}" not found`);
  const entries = Object.entries(secret.data ?? {});
  return Object.fromEntries(entries.map(([key, base64]) => [key, Buffer.from(base64, "base64").toString()]));
}
