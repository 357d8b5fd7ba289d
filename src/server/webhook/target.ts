import { versionOfIP } from "#lib/net/ip.ts";
import { type Address, Connections, type ResolveService } from "#server/extension/connections.ts";

/** Where a webhook is, as whoever configured it wrote it. Only one of URL and service is set. */
export interface Called {
  readonly clientConfig: {
    readonly url?: string | undefined;
    readonly service?:
      | {
          readonly namespace: string;
          readonly name: string;
          readonly port: number;
          readonly path?: string | undefined;
        }
      | undefined;
    /** Base64 of PEM certificates. */
    readonly caBundle?: string | undefined;
  };
}

/** Where the webhook is now. */
export async function addressOf(
  { clientConfig: { url, service } }: Called,
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
  const serverName = versionOfIP(host) ? undefined : host;
  return { host, port: Number(port || 443), serverName, authority, path };
}

/** The connections of all webhooks, made when they are first called. A webhook whose configuration changes is another. */
export class WebhookConnections {
  readonly #byWebhook = new WeakMap<Called, Connections>();

  of(webhook: Called): Pick<Connections, "use" | "retire"> {
    let connections = this.#byWebhook.get(webhook);
    if (!connections) {
      connections = new Connections({ caBundle: webhook.clientConfig.caBundle });
      this.#byWebhook.set(webhook, connections);
    }
    return connections;
  }

  /** Also for a webhook that was not called yet: a request that has seen it may still do so. */
  retire(webhook: Called): void {
    this.of(webhook).retire();
  }
}
