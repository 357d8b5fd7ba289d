import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { isAlreadyExists } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { ensureObject } from "#client/ensure-object.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { certificatesIn, notAfterMs, pemOf } from "#lib/crypto/x509.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informers } from "#runtime/informer.ts";
import type { RequestHeaderOptions } from "#server/authenticate/request-header.ts";

/** What extension servers need to know whom this server trusts. */
export interface Trust {
  /** In PEM. */
  readonly clientCa: string;
  readonly frontProxy?: { readonly ca: string; readonly options: RequestHeaderOptions } | undefined;
}

export interface PublishDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  /** What holds at this moment. */
  trust(): Trust;
}

const namespace = "kube-system";
const name = "extension-apiserver-authentication";
const everyMs = 60_000;

/** Keeps the config map by which extension servers verify callers: every minute, and when somebody deletes it. */
export async function publishTrust(deps: PublishDeps, signal: AbortSignal): Promise<void> {
  const { informers, clock, log } = deps;
  const changes = new Nudge();
  const unsubscribe = informers.of(ConfigMap).subscribe(({ object: { metadata } }) => {
    if (metadata.name === name && metadata.namespace === namespace) changes.give();
  });
  try {
    for (;;) {
      await publish(deps).catch((error: unknown) =>
        log.warn("cannot publish whom the server trusts", { error: messageOf(error) }),
      );
      const cancel = clock.after(everyMs, () => changes.give());
      await orAborted(changes.taken(), signal).finally(cancel);
    }
  } finally {
    unsubscribe();
  }
}

async function publish({ client, informers, clock, trust }: PublishDeps): Promise<void> {
  const plan = (data: Data) => planTrust(data, trust(), clock.now());
  if (!informers.of(Namespace).get({ name: namespace })) {
    await client.create(Namespace, { metadata: { name: namespace } }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  await ensureObject(client, ConfigMap, {
    ...{ namespace, name },
    object: { metadata: { namespace, name }, data: plan({}) },
    update: (current) => ({ ...current, data: plan(current.data ?? {}) }),
  });
}

type Data = Readonly<Record<string, string>>;

/** Adds what this server trusts to what is there: other API servers write the same object. */
export function planTrust(current: Data, { clientCa, frontProxy }: Trust, now: number): Record<string, string> {
  const joined = (key: string, more: string) => joinCertificates([current[key] ?? "", more], now);
  const clients = joined("client-ca-file", clientCa);
  const proxies = joined("requestheader-client-ca-file", frontProxy?.ca ?? "");
  const {
    usernameHeaders = [],
    uidHeaders = [],
    groupHeaders = [],
    extraPrefixes = [],
    allowedNames = [],
  } = frontProxy?.options ?? {};
  const list = (key: string, own: readonly string[]) => JSON.stringify([...new Set([...listIn(current[key]), ...own])]);
  const uids = list("requestheader-uid-headers", uidHeaders);
  return {
    ...(clients ? { "client-ca-file": clients } : {}),
    ...(proxies
      ? {
          "requestheader-username-headers": list("requestheader-username-headers", usernameHeaders),
          ...(uids === "[]" ? {} : { "requestheader-uid-headers": uids }),
          "requestheader-group-headers": list("requestheader-group-headers", groupHeaders),
          "requestheader-extra-headers-prefix": list("requestheader-extra-headers-prefix", extraPrefixes),
          "requestheader-client-ca-file": proxies,
          "requestheader-allowed-names": list("requestheader-allowed-names", allowedNames),
        }
      : {}),
  };
}

/** Anybody with the right to write the object may have put something else there. */
function listIn(text = "[]"): string[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
  } catch {
    return [];
  }
}

const graceMs = 5 * 60_000;

/** Each certificate once, without those that have expired. */
function joinCertificates(texts: readonly string[], now: number): string {
  const all = texts.flatMap(certificatesIn).filter((certificate) => notAfterMs(certificate) > now - graceMs);
  const different = new Map(all.map((certificate) => [certificate.fingerprint256, certificate.raw]));
  return [...different.values()].map((bytes) => pemOf("CERTIFICATE", bytes)).join("");
}
