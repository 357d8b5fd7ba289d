import { type UserInfo } from "#api/exchange.ts";
import { type Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { hostInUrl } from "#lib/net/ip.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Address } from "#server/extension/connections.ts";
import { describeFault } from "#server/extension/describe-fault.ts";
import { identityHeaders } from "./identity-headers.ts";
import { type RemoteApi } from "./remote-api.ts";

/** Who asks an extension server about itself; it may see everything. */
export const aggregatorUser: UserInfo = { name: "system:kube-aggregator", groups: ["system:masters"] };

export interface ProbeDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const timeoutMs = 5000;
/** One of several endpoints that answers is enough. */
const furtherAttempts = 4;

/** Why the server does not describe its group and version; undefined if it does. */
export async function probe(api: RemoteApi, deps: ProbeDeps): Promise<string | undefined> {
  if ((await attempt(api, deps)) === undefined) return undefined;
  const faults = await Promise.all(Array.from({ length: furtherAttempts }, () => attempt(api, deps)));
  return faults.includes(undefined) ? undefined : faults[0];
}

async function attempt(api: RemoteApi, deps: ProbeDeps): Promise<string | undefined> {
  let address: Address;
  try {
    address = await api.address(api.path);
  } catch (error) {
    return messageOf(error);
  }
  const url = `https://${hostInUrl(address.host)}:${address.port}${api.path}`;
  try {
    const status = await withDeadline(timeoutMs, deps, (signal) => statusOf(api, address, signal));
    if (status === outOfTime) return `failing or missing response from ${url}: Get "${url}": context deadline exceeded`;
    if (status >= 200 && status < 300) return undefined;
    return `failing or missing response from ${url}: bad status from ${url}: ${status}`;
  } catch (error) {
    if (deps.signal.aborted) throw deps.signal.reason;
    return `failing or missing response from ${url}: Get "${url}": ${describeFault(error, address)}`;
  }
}

/** Only the head matters: however large the rest is, it is not received. */
async function statusOf(api: RemoteApi, address: Address, signal: AbortSignal): Promise<number> {
  const headers = { host: address.authority, accept: "application/json", ...identityHeaders(aggregatorUser) };
  return await api.connections.use(address, async (transport) => {
    const { status, body } = await transport.send({ method: "GET", path: api.path, headers, body: undefined, signal });
    body.destroy();
    return status;
  });
}
