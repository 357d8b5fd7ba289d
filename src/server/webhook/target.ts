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

/** What the webhook sees as its URL, whatever pods its service has. */
export function shownAddress({ clientConfig: { url, service } }: Called): Pick<Address, "authority" | "path"> {
  if (!service) {
    const { host: authority, pathname: path } = new URL(url ?? "");
    return { authority, path };
  }
  const path = new URL(`https://localhost/${(service.path ?? "").replace(/^\//, "")}`).pathname;
  return { authority: `${serverNameOf(service)}:${service.port}`, path };
}

const serverNameOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${name}.${namespace}.svc`;

/** Where the webhook is now. */
export async function addressOf(called: Called, resolveService: ResolveService, turn: number): Promise<Address> {
  const { url, service } = called.clientConfig;
  const shown = shownAddress(called);
  if (service) {
    const { namespace, name, port } = service;
    return {
      ...(await resolveService({ namespace, name, port }, turn)),
      ...shown,
      serverName: serverNameOf(service),
    };
  }
  const { hostname, port } = new URL(url ?? "");
  const host = hostname.replace(/^\[|\]$/g, "");
  const serverName = versionOfIP(host) ? undefined : host;
  return { ...shown, host, port: Number(port || 443), serverName };
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
