import { ConfigMap } from "#api/core/config-map.ts";
import { StatusError } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { httpClient } from "#client/transport/http.ts";
import { backoffMs } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { checkAuthority, JoinError, type JoinToken, signatureKey, verifyClusterInfo } from "./cluster-info.ts";

export interface DiscoverOptions {
  readonly server: string;
  readonly token: JoinToken;
  readonly caHashes: readonly string[];
  /** PEM of the authority, if the user gave it. */
  readonly ca?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** The PEM of the cluster's certificate authority, once somebody whom the user trusts has vouched for it. */
export async function discoverAuthority(options: DiscoverOptions, signal: AbortSignal): Promise<string> {
  const { server, token, caHashes, ca, clock, log } = options;
  if (ca) {
    checkAuthority(ca, caHashes);
    return ca;
  }
  // Nothing secret is sent, and nothing that comes back is believed before it is verified.
  await using client = httpClient({ server, tls: { insecureSkipVerify: true } }, { clock, log });
  try {
    return verifyClusterInfo(await signedInfo(client, options, signal), { token, caHashes });
  } catch (error) {
    throw explainJoin(error, server);
  }
}

/** The signer needs a moment for a new token. */
const attempts = 5;

async function signedInfo(
  client: Client,
  { token, clock }: DiscoverOptions,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  for (let attempt = 1; ; attempt++) {
    const { data = {} } = await client.get(ConfigMap, { namespace: "kube-public", name: "cluster-info" }, { signal });
    if (attempt === attempts || data[signatureKey(token)] !== undefined) return data;
    await clock.sleep(backoffMs(attempt, { baseMs: 50, maxMs: 1000 }), signal);
  }
}

/** Says in one line why a machine cannot join. */
export function explainJoin(error: unknown, server: string): unknown {
  if (!(error instanceof StatusError)) return error;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const reason = "code" in cause ? connectionFaults[String(cause.code)] : undefined;
    if (reason) return new JoinError(`cannot join ${server}: ${reason}`, { cause: error });
  }
  const why = faultsByReason[error.reason] ?? error.message;
  return new JoinError(`cannot join ${server}: ${why}`, { cause: error });
}

const faultsByReason: Readonly<Record<string, string>> = {
  NotFound: "machines cannot join there: it has no cluster-info",
  Unauthorized:
    "it does not accept the token, which is wrong, expired or used up; `orlop token create` makes a new one",
};

const clockFault =
  "its certificate is not valid at this machine's time: set the clock of this machine or of the server";
const authorityFault =
  "its certificate is not from the cluster's authority: another server answers there, or the CA is wrong";

const connectionFaults: Readonly<Record<string, string>> = {
  ECONNREFUSED: "no server answers there",
  EHOSTUNREACH: "there is no way to that address",
  ENETUNREACH: "there is no way to that address",
  ENOTFOUND: "its name is unknown",
  EAI_AGAIN: "its name cannot be looked up",
  CERT_NOT_YET_VALID: clockFault,
  CERT_HAS_EXPIRED: clockFault,
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for other names and addresses",
  DEPTH_ZERO_SELF_SIGNED_CERT: authorityFault,
  SELF_SIGNED_CERT_IN_CHAIN: authorityFault,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: authorityFault,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: authorityFault,
  CERT_SIGNATURE_FAILURE: authorityFault,
};
