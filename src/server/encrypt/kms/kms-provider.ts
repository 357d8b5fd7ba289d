import { randomBytes, randomUUID } from "node:crypto";
import { type Clock } from "#lib/async/clock.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type Log } from "#lib/process/log.ts";
import { GrpcClient } from "#lib/proto/grpc/client.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { aesGcm, type Cipher, derivedAesGcm } from "../ciphers.ts";
import { type Provider } from "../provider.ts";
import { checkEncrypted, checkKeyId } from "./limits.ts";
import { type Annotation, decrypt, dekSource, EncryptedObject, encrypt, status } from "./messages.ts";

export interface KmsOptions {
  readonly name: string;
  /** `unix:///run/kms.sock`. */
  readonly endpoint: string;
  readonly timeoutMs: number;
}
export interface KmsDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Upstream's times: how often the service is asked while all is well and while it is not, and how long writes go on. */
const healthyMs = 60_000;
const unhealthyMs = 10_000;
const writableMs = 180_000;

/** The seed that encrypts, as the service has encrypted it. */
interface Seed {
  readonly cipher: Cipher;
  readonly keyId: string;
  readonly source: Uint8Array;
  readonly annotations: readonly Annotation[];
  /** Until when it may be used for writes. Every good answer of the service moves it. */
  writableUntilMs: number;
}

/** Every server that was started with every key of the service has one. */
const keptSeeds = 1000;

/**
 * A provider whose key is kept by an external service. The service encrypts only a seed; the values are encrypted here,
 * each with its own key. The seed stands, encrypted, in every value. When the service changes its key, a new seed is made.
 */
export class KmsProvider implements Provider, Disposable {
  readonly name: string;
  readonly prefix: Buffer;
  readonly #options: KmsOptions;
  readonly #deps: KmsDeps;
  readonly #client: GrpcClient;
  /** Opened seeds, by their encrypted form. */
  readonly #ciphers = new LruMap<string, Cipher>(keptSeeds);
  /** Seeds that are being opened. */
  readonly #opening = new Map<string, Promise<Cipher>>();
  #seed: Seed | undefined;
  #fault: string | undefined = "the service has not been asked yet";
  #cancel: (() => void) | undefined;
  #isClosed = false;

  private constructor(options: KmsOptions, deps: KmsDeps) {
    this.name = options.name;
    this.prefix = Buffer.from(`k8s:enc:kms:v2:${options.name}:`);
    this.#options = options;
    this.#deps = deps;
    this.#client = new GrpcClient({ address: options.endpoint, clock: deps.clock, maxMessageBytes: 64 << 10 });
  }

  /** A service that is away does not keep the server from starting: it is asked again. */
  static async open(options: KmsOptions, deps: KmsDeps): Promise<KmsProvider> {
    const provider = new KmsProvider(options, deps);
    await provider.#probe();
    return provider;
  }

  /** What is wrong with the service, or undefined. */
  get fault(): string | undefined {
    return this.#fault;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#client.close();
  }

  checkSeal(): void {
    const now = this.#deps.clock.now();
    if (!this.#seed) throw new Error(`the key service ${this.name} is not ready: ${this.#fault ?? ""}`);
    if (now <= this.#seed.writableUntilMs) return;
    const since = new Date(this.#seed.writableUntilMs).toISOString();
    throw new Error(`the key service ${this.name} has not confirmed its key since ${since}: ${this.#fault ?? ""}`);
  }

  seal(plain: Uint8Array, place: Buffer): Uint8Array {
    const seed = this.#seed;
    if (!seed) throw new Error(`the key service ${this.name} is not ready`);
    return EncryptedObject.encode({
      encryptedData: seed.cipher.seal(plain, place),
      keyId: seed.keyId,
      encryptedDekSource: seed.source,
      annotations: seed.annotations,
      encryptedDekSourceType: dekSource.seed,
    });
  }

  open(sealed: Uint8Array, place: Buffer): Uint8Array | Promise<Uint8Array> {
    const stored = readEncrypted(sealed);
    const key = cacheKey(stored);
    const known = this.#ciphers.get(key);
    if (known) return known.open(stored.encryptedData, place);
    return this.#openSeed(key, stored).then((cipher) => cipher.open(stored.encryptedData, place));
  }

  isStale(sealed: Uint8Array): boolean {
    const { keyId, encryptedDekSourceType } = readEncrypted(sealed);
    return keyId !== this.#seed?.keyId || encryptedDekSourceType !== dekSource.seed;
  }

  /** Many values have the same seed, which is asked for once. */
  #openSeed(key: string, stored: EncryptedObject): Promise<Cipher> {
    const underWay = this.#opening.get(key);
    if (underWay) return underWay;
    const opening = this.#decrypt(stored)
      .then((cipher) => {
        this.#ciphers.set(key, cipher);
        return cipher;
      })
      .finally(() => this.#opening.delete(key));
    this.#opening.set(key, opening);
    return opening;
  }

  async #decrypt({ encryptedDekSource, keyId, annotations, encryptedDekSourceType }: EncryptedObject): Promise<Cipher> {
    const request = { ciphertext: encryptedDekSource, uid: randomUUID(), keyId, annotations };
    const answer = await this.#client.call(decrypt, request, this.#limit).catch((error: unknown) => {
      throw new Error(`failed to decrypt DEK, error: ${messageOf(error)}`);
    });
    return encryptedDekSourceType === dekSource.seed
      ? derivedAesGcm(seedOf(answer.plaintext))
      : aesGcm(keyOf(answer.plaintext));
  }

  get #limit() {
    return { timeoutMs: this.#options.timeoutMs };
  }

  async #probe(): Promise<void> {
    const { clock, log } = this.#deps;
    const before = this.#fault;
    try {
      await this.#askService();
      this.#fault = undefined;
    } catch (error) {
      this.#fault = messageOf(error);
      if (before !== this.#fault) log.error("a key service is not healthy", { name: this.name, error: this.#fault });
    }
    if (this.#isClosed) return;
    this.#cancel = clock.after(this.#fault ? unhealthyMs : healthyMs, () => void this.#probe());
  }

  /** Makes a new seed if the service has a new key; otherwise the current one may be used for longer. */
  async #askService(): Promise<void> {
    const writableUntilMs = this.#deps.clock.now() + writableMs;
    const { version, healthz, keyId } = await this.#client.call(status, {}, this.#limit);
    if (healthz !== "ok") throw new Error(`got unexpected healthz status: ${healthz.slice(0, 200)}`);
    if (version !== "v2" && version !== "v2beta1")
      throw new Error(`expected KMSv2 API version v2, got ${version.slice(0, 20)}`);
    checkKeyId(keyId);
    if (this.#seed?.keyId === keyId) this.#seed.writableUntilMs = writableUntilMs;
    else this.#seed = await this.#newSeed(keyId, writableUntilMs);
  }

  async #newSeed(keyId: string, writableUntilMs: number): Promise<Seed> {
    const plain = randomBytes(32);
    const answer = await this.#client.call(encrypt, { plaintext: plain, uid: randomUUID() }, this.#limit);
    const encryptedDekSourceType = dekSource.seed;
    const { ciphertext: source, annotations } = answer;
    checkEncrypted({ encryptedDekSource: source, keyId: answer.keyId, annotations, encryptedDekSourceType });
    // The service is about to change its key: the next probe sees the same one twice.
    if (answer.keyId !== keyId) throw new Error("the key changed between two calls");
    const cipher = derivedAesGcm(plain);
    this.#ciphers.set(cacheKey({ encryptedDekSource: source, keyId, annotations, encryptedDekSourceType }), cipher);
    return { cipher, keyId, source, annotations, writableUntilMs };
  }
}

function readEncrypted(sealed: Uint8Array): EncryptedObject {
  let stored: EncryptedObject;
  try {
    stored = EncryptedObject.decode(sealed);
  } catch (cause) {
    throw new Error(`the stored data is not an encrypted object: ${messageOf(cause)}`, { cause });
  }
  checkEncrypted(stored);
  if (stored.encryptedData.length === 0) throw new Error("encrypted data is empty");
  return stored;
}

/** A structure, so that no two different ones have the same text. */
const cacheKey = (from: Omit<EncryptedObject, "encryptedData">): string =>
  JSON.stringify([
    from.encryptedDekSourceType,
    base64(from.encryptedDekSource),
    from.keyId,
    from.annotations.map(({ key, value }) => [key, base64(value)]).sort(),
  ]);
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

function seedOf(plain: Uint8Array): Uint8Array {
  if (plain.length < 32) throw new Error(`invalid seed length ${plain.length} used for key generation`);
  return plain;
}

function keyOf(plain: Uint8Array): Uint8Array {
  if (![16, 24, 32].includes(plain.length)) throw new Error(`crypto/aes: invalid key size ${plain.length}`);
  return plain;
}
