import { findCondition } from "#api/meta/condition.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { isAlreadyExists } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { type Log } from "#lib/process/log.ts";
import { defaultRangeName as name } from "./allocate/usable-ranges.ts";

/**
 * Publishes the ranges of service addresses that the server was started with. A range that is there already stays, but
 * it can get a second family.
 */
export async function ensureDefaultServiceCidr(
  client: Client,
  cidrs: readonly string[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const current = await createOrGet(client, cidrs);
  const { spec, metadata, status } = current;
  if (metadata.deletionTimestamp) return;
  if (spec.cidrs?.length === 1 && cidrs.length === 2 && spec.cidrs[0] === cidrs[0]) {
    await client.update(ServiceCIDR, { ...current, spec: { cidrs: [...cidrs] } });
    return;
  }
  if (!equal(spec.cidrs, cidrs)) {
    log.warn("services get addresses of the stored range, not of the configured one", { stored: spec.cidrs, cidrs });
    return;
  }
  const ready = findCondition(status.conditions, "Ready");
  if (ready && ready.status !== "Unknown") return;
  const condition = {
    type: "Ready",
    status: "True" as const,
    reason: "",
    message: "Kubernetes default Service CIDR is ready",
    lastTransitionTime: timestamp(clock.now()),
  };
  await client.updateStatus(ServiceCIDR, { ...current, status: { conditions: [condition] } });
}

async function createOrGet(client: Client, cidrs: readonly string[]): Promise<ServiceCIDR> {
  try {
    return await client.create(ServiceCIDR, { metadata: { name }, spec: { cidrs: [...cidrs] } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return await client.get(ServiceCIDR, { name });
  }
}
