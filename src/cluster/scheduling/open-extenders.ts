import { type TlsConfig } from "#client/client-config.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Extender as ExtenderServer } from "#scheduler/extenders/extender.ts";
import { parseDuration } from "#schema/duration.ts";
import { readConfigFile } from "#server/config/config-file.ts";
import { type Extender } from "./extender-config.ts";

const defaultTimeoutMs = 5000;

/** Reads the certificates that an extender needs. Connects when the first pod concerns it. */
export async function openExtender(extender: Extender, clock: Clock): Promise<ExtenderServer> {
  const { urlPrefix, weight = 0, nodeCacheCapable = false, ignorable = false, managedResources = [] } = extender;
  const { filterVerb, prioritizeVerb, preemptVerb, bindVerb, httpTimeout } = extender;
  const timeoutMs = httpTimeout === undefined ? 0 : Number(parseDuration(httpTimeout) / 1_000_000n);
  const settings = {
    config: { server: urlPrefix, tls: await tlsOf(extender) },
    timeoutMs: timeoutMs || defaultTimeoutMs,
    ...{ filterVerb, prioritizeVerb, preemptVerb, bindVerb, weight, nodeCacheCapable, ignorable },
    managedResources: managedResources.map(({ name }) => name),
  };
  return new ExtenderServer(settings, clock);
}

async function tlsOf({ tlsConfig = {}, enableHTTPS = false }: Extender): Promise<TlsConfig> {
  const read = async (data: string | undefined, file: string | undefined): Promise<string | undefined> => {
    if (data) return Buffer.from(data, "base64").toString();
    return file ? await readConfigFile(file, "scheduler-config") : undefined;
  };
  const [ca, cert, key] = await Promise.all([
    read(tlsConfig.caData, tlsConfig.caFile),
    read(tlsConfig.certData, tlsConfig.certFile),
    read(tlsConfig.keyData, tlsConfig.keyFile),
  ]);
  return {
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(tlsConfig.serverName ? { serverName: tlsConfig.serverName } : {}),
    insecureSkipVerify: tlsConfig.insecure === true || (enableHTTPS && !ca),
  };
}

/** Resources that are left to extenders. */
export const ignoredResources = (extenders: readonly Extender[]): readonly string[] =>
  extenders.flatMap(({ managedResources = [] }) =>
    managedResources.filter(({ ignoredByScheduler }) => ignoredByScheduler).map(({ name }) => name),
  );
