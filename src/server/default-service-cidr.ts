import { isConditionTrue } from "#api/meta/condition.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { isAlreadyExists } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { timestamp } from "#lib/async/clock.ts";

const name = "kubernetes";

/** Publishes the range of service addresses that the server was started with. A range that is there already stays. */
export async function ensureDefaultServiceCidr(client: Client, cidr: string, now: number): Promise<void> {
  const current = await createOrGet(client, cidr);
  if (isConditionTrue(current.status.conditions, "Ready")) return;
  const ready = {
    type: "Ready",
    status: "True" as const,
    reason: "",
    message: "Kubernetes default Service CIDR is ready",
    lastTransitionTime: timestamp(now),
  };
  await client.updateStatus(ServiceCIDR, { ...current, status: { conditions: [ready] } });
}

async function createOrGet(client: Client, cidr: string): Promise<ServiceCIDR> {
  try {
    return await client.create(ServiceCIDR, { metadata: { name }, spec: { cidrs: [cidr] } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return await client.get(ServiceCIDR, { name });
  }
}
