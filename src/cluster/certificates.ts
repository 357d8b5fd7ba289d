import { X509Certificate } from "node:crypto";
import { type Clock } from "#lib/async/clock.ts";
import { type KeyPair, readSubject } from "#lib/crypto/x509.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { isDueForRenewal, loadOrCreatePki, type Pki, type PkiOptions } from "#server/http/tls.ts";

export interface CertificatesOptions {
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called again at each renewal, because a machine's addresses change. */
  hosts(): Pick<PkiOptions, "hosts" | "serviceAddress">;
}

/** Certificates are replaced 90 days before they expire, so checking once a day is enough. */
const checkMs = 86_400_000;
const retryMs = 3_600_000;

/** A certificate that is replaced before it expires. */
export interface Renewed {
  readonly current: KeyPair;
  /** Called with each new pair. */
  onChange(listener: (pair: KeyPair) => void): void;
}

/**
 * The keys and certificates of a running cluster. While `run` runs, each is replaced long before it expires, on the disk
 * and in use. If that fails, the old ones stay in use, and renewal is tried again every hour.
 */
export class Certificates {
  readonly #options: CertificatesOptions;
  readonly #kept: KeptPair[] = [];
  #pki: Pki;

  private constructor(options: CertificatesOptions, pki: Pki) {
    this.#options = options;
    this.#pki = pki;
  }

  static async open(options: CertificatesOptions): Promise<Certificates> {
    return new Certificates(options, await load(options));
  }

  /** Everything that is on the disk now. */
  get pki(): Pki {
    return this.#pki;
  }

  /** A pair that is stored on the disk. */
  follow(name: "serving" | "admin"): Renewed {
    return this.#keep(({ [name]: pair }) => pair);
  }

  /** A pair that lives only in this process, made at its start and again before it expires. */
  issue(make: (pki: Pki) => KeyPair): Renewed {
    let pair: KeyPair | undefined;
    return this.#keep((pki) => {
      if (!pair || isDueForRenewal(pair, this.#options.clock.now())) pair = make(pki);
      return pair;
    });
  }

  /** Replaces what is about to expire, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let waitMs = checkMs;
    for (;;) {
      await clock.sleep(waitMs, signal);
      try {
        await this.renew();
        waitMs = checkMs;
      } catch (error) {
        log.error("certificates could not be renewed", { error: messageOf(error) });
        waitMs = retryMs;
      }
    }
  }

  /** Checks each pair once, and replaces those that are about to expire. */
  async renew(): Promise<void> {
    this.#pki = await load(this.#options);
    for (const kept of this.#kept) {
      if (kept.update(this.#pki)) this.#options.log.info("certificate renewed", { subject: kept.subject });
    }
  }

  #keep(find: (pki: Pki) => KeyPair): Renewed {
    const kept = new KeptPair(find, this.#pki);
    this.#kept.push(kept);
    return kept;
  }
}

const load = ({ dir, clock, hosts }: CertificatesOptions): Promise<Pki> => loadOrCreatePki(dir, { ...hosts(), clock });

class KeptPair implements Renewed {
  readonly #find: (pki: Pki) => KeyPair;
  readonly #listeners: ((pair: KeyPair) => void)[] = [];
  #current: KeyPair;

  constructor(find: (pki: Pki) => KeyPair, pki: Pki) {
    this.#find = find;
    this.#current = find(pki);
  }

  get current(): KeyPair {
    return this.#current;
  }
  get subject(): string {
    return readSubject(new X509Certificate(this.#current.certificate)).commonName;
  }
  onChange(listener: (pair: KeyPair) => void): void {
    this.#listeners.push(listener);
  }

  /** Returns whether there is a new pair. */
  update(pki: Pki): boolean {
    const pair = this.#find(pki);
    if (pair.certificate === this.#current.certificate) return false;
    this.#current = pair;
    for (const listener of this.#listeners) listener(pair);
    return true;
  }
}
