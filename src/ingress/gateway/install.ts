import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { type InputOf } from "#api/resource.ts";
import { isAlreadyExists, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { gatewayDefinitions } from "./definitions.ts";
import { GatewayClass } from "./kinds.ts";

/** What GatewayClasses name to be served by this component. */
export const gatewayController = "orlop.dev/gateway";

/** Creates the definitions that are missing, and waits until all are served. Those that exist are somebody's choice. */
export async function ensureGatewayKinds(client: Client, clock: Clock, signal: AbortSignal): Promise<void> {
  for (const definition of gatewayDefinitions) {
    const name = definition.metadata?.name ?? "";
    const known = await client.get(CustomResourceDefinition, { name }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (known) continue;
    await client.create(CustomResourceDefinition, definition, { signal }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  // A definition of somebody else may never be served.
  const backoff = new Backoff({ baseMs: 20, maxMs: 10_000 });
  for (const { metadata } of gatewayDefinitions) {
    while (!(await isServed(client, metadata?.name ?? "", signal))) await clock.sleep(backoff.nextMs(), signal);
  }
}

async function isServed(client: Client, name: string, signal: AbortSignal): Promise<boolean> {
  const { status } = await client.get(CustomResourceDefinition, { name }, { signal });
  return (status?.conditions ?? []).some((one) => one.type === "Established" && one.status === "True");
}

export async function ensureGatewayClass(client: Client, signal: AbortSignal): Promise<void> {
  const own = { metadata: { name: "orlop" }, spec: { controllerName: gatewayController } };
  await client.create(GatewayClass, own as InputOf<GatewayClass>, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
