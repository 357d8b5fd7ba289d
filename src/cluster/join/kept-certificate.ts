import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Clock } from "#lib/async/clock.ts";
import { type KeyPair, notAfterMs, notBeforeMs } from "#lib/crypto/x509.ts";
import { type Random } from "#lib/data/random.ts";
import { replaceFile } from "#lib/fs/replace-file.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Renewed } from "../certificates.ts";

export interface KeptOptions {
  /** Key and certificate in one file, so that they always match. */
  readonly file: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whether a certificate on the disk is still the right one. */
  fits(certificate: X509Certificate): boolean;
}

const dayMs = 86_400_000;
const retryMs = 60_000;

/** A certificate that this machine has from the cluster. While `run` runs, it is replaced long before it expires. */
export class KeptCertificate implements Renewed {
  readonly #options: KeptOptions;
  readonly #listeners: ((pair: KeyPair) => void)[] = [];
  #current: KeyPair;

  private constructor(options: KeptOptions, current: KeyPair) {
    this.#options = options;
    this.#current = current;
  }

  /** Takes the one on the disk, or else gets the first one. */
  static async open(options: KeptOptions, obtain: () => Promise<KeyPair>): Promise<KeptCertificate> {
    const known = await readPair(options);
    if (known) return new KeptCertificate(options, known);
    const first = await obtain();
    await writePair(options.file, first);
    return new KeptCertificate(options, first);
  }

  get current(): KeyPair {
    return this.#current;
  }
  onChange(listener: (pair: KeyPair) => void): void {
    this.#listeners.push(listener);
  }

  /** Replaces it in time, again and again, until the signal. A failure is tried again every minute. */
  async run(obtain: () => Promise<KeyPair>, signal: AbortSignal): Promise<void> {
    const { clock, random, log, file } = this.#options;
    let dueMs = planRenewal(this.#current, random());
    for (;;) {
      // Clocks jump and machines sleep, so a long wait is many short ones.
      await clock.sleep(Math.min(Math.max(dueMs - clock.now(), 0), dayMs), signal);
      if (clock.now() < dueMs) continue;
      try {
        const pair = await obtain();
        await writePair(file, pair);
        this.#current = pair;
        for (const listener of this.#listeners) listener(pair);
        dueMs = planRenewal(pair, random());
        log.info("certificate renewed", { file });
      } catch (error) {
        signal.throwIfAborted();
        log.error("a certificate could not be renewed", { file, error: messageOf(error) });
        dueMs = clock.now() + retryMs;
      }
    }
  }
}

/** As upstream: after 70 to 90 percent of its life, so that the nodes of a cluster do not all ask at once. */
export function planRenewal({ certificate }: Pick<KeyPair, "certificate">, random: number): number {
  const parsed = new X509Certificate(certificate);
  const [from, to] = [notBeforeMs(parsed), notAfterMs(parsed)];
  return from + (to - from) * (0.7 + 0.2 * random);
}

/** undefined if there is none, or if it is of no use. */
async function readPair({ file, clock, fits }: KeptOptions): Promise<KeyPair | undefined> {
  const text = await readFile(file, "utf8").catch(() => "");
  const at = text.indexOf("-----BEGIN CERTIFICATE-----");
  if (at < 0) return undefined;
  const pair = { key: text.slice(0, at), certificate: text.slice(at) };
  try {
    const parsed = new X509Certificate(pair.certificate);
    const isGood = parsed.checkPrivateKey(createPrivateKey(pair.key)) && notAfterMs(parsed) > clock.now();
    return isGood && fits(parsed) ? pair : undefined;
  } catch {
    return undefined; // A damaged file is replaced.
  }
}

const writePair = (file: string, { key, certificate }: KeyPair): Promise<void> => replaceFile(file, key + certificate);
