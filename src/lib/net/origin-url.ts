import { hostInUrl, versionOfIP } from "./ip.ts";

/** Where a server is. */
export interface Origin {
  readonly scheme: "http" | "https";
  /** An IP address or a DNS name. */
  readonly host: string;
  readonly port: number;
}

const maxHostLength = 253;
/** Labels of letters, digits, `-` and `_`: nothing that means something in a URL. */
const dnsName = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i;

/** The only way to turn a host from user input into a URL: it ends up as the host and nothing else, or this throws. */
export function originUrl({ scheme, host, port }: Origin): URL {
  if (!isHost(host)) throw new TypeError(`${JSON.stringify(host)} is not a host`);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new TypeError(`${port} is not a port`);
  return new URL(`${scheme}://${hostInUrl(host)}:${port}/`);
}

/**
 * Refuses zones, because they name interfaces of this machine, and what `URL` would read as a number, such as `0x7f.1`.
 */
function isHost(host: string): boolean {
  if (host.length > maxHostLength || host.includes("%")) return false;
  if (versionOfIP(host) > 0) return true;
  const lastLabel = host.replace(/\.$/, "").split(".").at(-1) ?? "";
  return dnsName.test(host) && !/^(\d+|0x[0-9a-f]*)$/i.test(lastLabel);
}
