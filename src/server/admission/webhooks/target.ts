import { isIP } from "node:net";
import { type Address, Connections, type ResolveService } from "#server/extension/connections.ts";
import { type Hook, type Webhook } from "./hook.ts";

/** Where the webhook is now. */
export async function addressOf(
  { clientConfig: { url, service } }: Webhook,
  resolveService: ResolveService,
  turn: number,
): Promise<Address> {
  if (service) {
    const { namespace, name, port } = service;
    const serverName = `${name}.${namespace}.svc`;
    const path = new URL(`https://localhost/${(service.path ?? "").replace(/^\//, "")}`).pathname;
    return {
      ...(await resolveService({ namespace, name, port }, turn)),
      serverName,
      authority: `${serverName}:${port}`,
      path,
    };
  }
  const { hostname, port, host: authority, pathname: path } = new URL(url ?? "");
  const host = hostname.replace(/^\[|\]$/g, "");
  const serverName = isIP(host) ? undefined : host;
  return { host, port: Number(port || 443), serverName, authority, path };
}

/** The connections of all webhooks, made when they are first called. */
export class WebhookConnections {
  readonly #byHook = new WeakMap<Hook, Connections>();

  of(hook: Hook): Pick<Connections, "use" | "retire"> {
    let connections = this.#byHook.get(hook);
    if (!connections) {
      connections = new Connections({ caBundle: hook.webhook.clientConfig.caBundle });
      this.#byHook.set(hook, connections);
    }
    return connections;
  }

  /** Also for a hook that was not called yet: a request that has seen it may still do so. */
  retire(hook: Hook): void {
    this.of(hook).retire();
  }
}
