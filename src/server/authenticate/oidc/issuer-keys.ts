import { createPublicKey, type KeyObject } from "node:crypto";
import { createCredentials } from "#client/kubeconfig/credentials.ts";
import { createTransport } from "#client/transport/transport.ts";
import { type ExchangeLimits, exchangeBounded } from "#client/webhook/bounded-exchange.ts";
import { type Clock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { isObject } from "#lib/data/json-object.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { trimEndOf } from "#lib/text/trim-end.ts";

export interface IssuerKeysOptions {
  readonly url: string;
  readonly discoveryUrl?: string | undefined;
  /** PEM; by default, the system's authorities. */
  readonly certificateAuthority?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** A public key of the issuer. */
export interface IssuerKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** The keys of one issuer: fetched in the background, kept, and fetched again for a token that none of them signed. */
export interface IssuerKeys {
  /** The keys with this id, or all if the token names none. */
  find(id: string | undefined): readonly IssuerKey[];
  /** Whether the keys have been fetched again. That is not done more often than every ten seconds. */
  refresh(): Promise<boolean>;
  /** Fetches until it succeeds or the signal fires. */
  run(signal: AbortSignal): Promise<void>;
}

const limits = { timeoutMs: 30_000, maxBytes: 1024 * 1024 };
const maxKeys = 200;
/** Anybody can send tokens that no key has signed, so they cannot make us fetch more often than this. */
const refetchMs = 10_000;

export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { clock, log, url } = options;
  let keys: readonly IssuerKey[] = [];
  let fetchedMs = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;

  const fetchNow = async (): Promise<void> => {
    try {
      keys = await fetchKeys(options);
    } catch (error) {
      log.error("the keys of an issuer cannot be fetched", { issuer: url, error: messageOf(error) });
    } finally {
      fetchedMs = clock.now();
      fetching = undefined;
    }
  };
  const fetchOnce = (): Promise<void> => {
    fetching ??= fetchNow();
    return fetching;
  };
  return {
    find: (id) => keys.filter((key) => id === undefined || key.id === id),
    async refresh() {
      if (!fetching && clock.now() - fetchedMs < refetchMs) return false;
      await fetchOnce();
      return true;
    },
    async run(signal) {
      while (!signal.aborted && keys.length === 0) {
        await fetchOnce();
        if (keys.length === 0) await clock.sleep(refetchMs, signal);
      }
    },
  };
}

async function fetchKeys(options: IssuerKeysOptions): Promise<IssuerKey[]> {
  const { url, discoveryUrl } = options;
  const place = discoveryUrl ?? `${trimEndOf(url, "/")}/.well-known/openid-configuration`;
  const configuration = await fetchJson(place, options);
  const { issuer, jwks_uri: keysUrl } = configuration;
  // Otherwise somebody who can change one file of the host could speak for another issuer.
  if (issuer !== url) throw new Error(`${place} is about the issuer ${JSON.stringify(issuer)}, not ${url}`);
  if (typeof keysUrl !== "string" || !URL.canParse(keysUrl) || new URL(keysUrl).protocol !== "https:") {
    throw new Error(`${place} has no https URL in jwks_uri`);
  }
  const { keys } = await fetchJson(keysUrl, options);
  if (!Array.isArray(keys)) throw new Error(`${keysUrl} has no list of keys`);
  return keys.slice(0, maxKeys).flatMap(readKey);
}

/** Keys that are not for signatures, or of an unknown type, are skipped. */
function readKey(jwk: unknown): IssuerKey[] {
  if (!isObject(jwk) || (jwk.kty !== "RSA" && jwk.kty !== "EC") || (jwk.use !== undefined && jwk.use !== "sig"))
    return [];
  try {
    // Only the public part: whatever else the document says is not taken over.
    const { n = "", e = "", crv = "", x = "", y = "" } = jwk as Record<string, string>;
    const parts = jwk.kty === "RSA" ? { kty: "RSA", n, e } : { kty: "EC", crv, x, y };
    const key = createPublicKey({ key: parts, format: "jwk" });
    return [{ id: typeof jwk.kid === "string" ? jwk.kid : "", key }];
  } catch {
    return [];
  }
}

async function fetchJson(address: string, options: IssuerKeysOptions): Promise<Record<string, unknown>> {
  const value: unknown = JSON.parse(await fetchText(address, { ...options, ...limits, headers: acceptJson }));
  if (isObject(value)) return value;
  throw new Error(`${address} is not a JSON object`);
}
const acceptJson = { accept: "application/json" };

export interface FetchOptions extends Pick<IssuerKeysOptions, "clock" | "certificateAuthority">, ExchangeLimits {
  readonly headers: Readonly<Record<string, string>>;
}

/** A document at an https URL. Redirects are not followed: only the issuer says where something is. */
export async function fetchText(
  address: string,
  { clock, certificateAuthority, headers, timeoutMs, maxBytes }: FetchOptions,
): Promise<string> {
  const { origin, pathname, search } = new URL(address);
  const config = { server: origin, tls: certificateAuthority ? { ca: certificateAuthority } : {} };
  const transport = createTransport(config, createCredentials(config, { clock }), clock);
  try {
    const request = { method: "GET", path: pathname + search, headers, body: undefined };
    const bounds = { timeoutMs, maxBytes, clock, signal: neverAborted };
    const { status, body } = await exchangeBounded(transport, request, bounds);
    if (status !== 200) throw new Error(`${address} answered with status ${status}`);
    return Buffer.from(body).toString();
  } finally {
    transport.close();
  }
}
