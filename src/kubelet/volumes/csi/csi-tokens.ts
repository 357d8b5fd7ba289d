import type { CSIDriver } from "#api/storage/csi-driver.ts";
import { timestamp } from "#lib/async/clock.ts";
import { parseJwt } from "#lib/crypto/jwt.ts";
import type { VolumeContext } from "../plugin.ts";

const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens";
const defaultSeconds = 3600;

/** The tokens of the pod that a driver asks for, as upstream hands them over; nothing if it asks for none. */
export async function tokensOf(
  { pod, sources }: VolumeContext,
  { tokenRequests = [] }: Pick<CSIDriver["spec"], "tokenRequests">,
): Promise<Record<string, string>> {
  if (tokenRequests.length === 0) return {};
  const entries = await Promise.all(
    tokenRequests.map(async ({ audience, expirationSeconds = defaultSeconds }) => {
      const token = await sources.serviceAccountToken(pod, { audience, expirationSeconds, path: "token" });
      const { exp } = parseJwt(token)?.claims ?? {};
      const expirationTimestamp = typeof exp === "number" ? timestamp(exp * 1000) : null;
      return [audience, { token, expirationTimestamp }] as const;
    }),
  );
  return { [tokensKey]: JSON.stringify(Object.fromEntries(entries)) };
}
