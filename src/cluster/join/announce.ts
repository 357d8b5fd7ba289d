import { parseIpRange } from "#api/networking/ip-range.ts";
import { type Clock } from "#lib/async/clock.ts";
import { hostInUrl, primaryAddress } from "#lib/net/ip.ts";
import { type Log } from "#lib/process/log.ts";
import { defaultServiceRanges, type ServiceRanges } from "#server/allocate/service-allocator.ts";
import { ensureDefaultServiceCidr } from "#server/default-service-cidr.ts";
import { ensureKubernetesService, type ServerPlace } from "#server/kubernetes-service.ts";
import { type AssembledServer } from "../api-server.ts";
import { type Certificates } from "../certificates.ts";
import { publishJoin } from "./publish-join.ts";

/** Where the server is, and how its cluster's network is laid out. */
export interface PlaceOptions {
  readonly serviceCidr?: string;
  readonly clusterCidr?: string;
  readonly address?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Announced {
  readonly api: AssembledServer;
  readonly port: number;
  readonly certificates: Certificates;
}

/** Publishes the API server as the service `kubernetes.default`, at an address that pods can reach. */
export async function announce(options: PlaceOptions, { api, port, certificates }: Announced): Promise<void> {
  const { clock, log } = options;
  await ensureDefaultServiceCidr(api.loopback, rangesOf(options).cidrs, { clock, log });
  const place = placeOf(options, port);
  if (place) await ensureKubernetesService(api.loopback, place);
  const { cidrs } = rangesOf(options);
  const { clusterCidr = defaultClusterCidr } = options;
  await publishJoin(api.loopback, {
    server: `https://${hostInUrl(place?.address ?? "127.0.0.1")}:${port}`,
    certificateAuthority: certificates.pki.authority.certificate,
    network: { clusterCidr, serviceCidr: cidrs.join(","), dnsAddress: serviceAddress(cidrs, 10) },
  });
}

/** The range of pods, unless it is chosen. */
const defaultClusterCidr = "10.244.0.0/16";

/** undefined on a machine without a network. */
export function placeOf(options: PlaceOptions, port: number): ServerPlace | undefined {
  const address = options.address ?? primaryAddress();
  return address ? { address, port, clusterIP: serviceAddress(rangesOf(options).cidrs, 1) } : undefined;
}

/** As upstream, which looks after its own Service this often. */
const announceMs = 10_000;

/** Repairs the objects by which pods find the server, whose address may change. */
export async function keepAnnounced(options: PlaceOptions, at: Announced, signal: AbortSignal): Promise<void> {
  for (;;) {
    await options.clock.sleep(announceMs, signal);
    await announce(options, at).catch((error: unknown) =>
      options.log.warn("the service kubernetes could not be written", { error }),
    );
  }
}

export const rangesOf = ({ serviceCidr }: Pick<PlaceOptions, "serviceCidr">): ServiceRanges =>
  serviceCidr ? { ...defaultServiceRanges, cidrs: serviceCidr.split(",") } : defaultServiceRanges;

/** The n-th address of the first service range: the API server has the first, DNS the tenth. */
export function serviceAddress([cidr = ""]: readonly string[], n: number): string {
  const range = parseIpRange(cidr);
  if (!range) throw new Error(`not a range of service addresses: ${cidr}`);
  return range.at(n);
}
