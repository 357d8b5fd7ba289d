import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { serveGrpc, serveUnary } from "#lib/proto/grpc/server.ts";
import { GrpcError } from "#lib/proto/grpc/status.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { aesGcm } from "../ciphers.ts";
import { KmsProvider } from "./kms-provider.ts";
import {
  DecryptRequest,
  DecryptResponse,
  dekSource,
  EncryptedObject,
  EncryptRequest,
  EncryptResponse,
  StatusRequest,
  StatusResponse,
} from "./messages.ts";

const place = Buffer.from("/registry/secrets/default/a");
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** A key service with keys k1, k2 …, which can be told to fail. */
async function startService() {
  const dir = await mkdtempDisposable(path.join(tmpdir(), "kms-"));
  const socket = path.join(dir.path, "kms.sock");
  const state = {
    keyId: "k1",
    healthz: "ok",
    isAway: false,
    decrypts: 0,
    annotations: [{ key: "a.example.com", value: Buffer.from("x") }],
  };
  const keyOf = (keyId: string) => aesGcm(Buffer.alloc(32, keyId));
  const present = () => {
    if (state.isAway) throw new GrpcError("UNAVAILABLE", "the vault is sealed");
  };
  const service = "/v2.KeyManagementService";
  const methods = [
    serveUnary(`${service}/Status`, { request: StatusRequest, response: StatusResponse }, () => {
      present();
      return { version: "v2", healthz: state.healthz, keyId: state.keyId };
    }),
    serveUnary(`${service}/Encrypt`, { request: EncryptRequest, response: EncryptResponse }, ({ plaintext }) => {
      present();
      const { keyId, annotations } = state;
      return { ciphertext: keyOf(keyId).seal(plaintext, Buffer.from("kek")), keyId, annotations };
    }),
    serveUnary(
      `${service}/Decrypt`,
      { request: DecryptRequest, response: DecryptResponse },
      ({ ciphertext, keyId, annotations }) => {
        present();
        state.decrypts++;
        assert.equal(annotations[0]?.key, "a.example.com");
        return { plaintext: keyOf(keyId).open(ciphertext, Buffer.from("kek")) };
      },
    ),
  ];
  const server = await serveGrpc(socket, methods);
  const clock = createVirtualClock();
  const opened: KmsProvider[] = [];
  return {
    state,
    clock,
    async open() {
      const options = { name: "vault", endpoint: `unix://${socket}`, timeoutMs: 2000 };
      const provider = await KmsProvider.open(options, { clock, log: silentLog });
      opened.push(provider);
      return provider;
    },
    /** Lets the provider ask the service again. */
    async probed(provider: KmsProvider, isDone: () => boolean) {
      await clock.advance(provider.fault ? 10_000 : 60_000);
      while (!isDone()) await new Promise((resolve) => setImmediate(resolve));
    },
    async [Symbol.asyncDispose]() {
      for (const provider of opened) provider[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
      await dir.remove();
    },
  };
}

test("a value is encrypted here with a seed that only the service can open", async () => {
  await using service = await startService();
  const first = await service.open();
  const sealed = [1, 2].map((n) => first.seal(Buffer.from(`value ${n}`), place));
  const second = await service.open();

  const opened = await Promise.all(sealed.map((each) => second.open(each, place)));

  assert.deepEqual(opened.map(text), ["value 1", "value 2"]);
  assert.equal(service.state.decrypts, 1);
  assert.equal(text(await first.open(sealed[0] ?? place, place)), "value 1");
  assert.equal(service.state.decrypts, 1);
  const stored = EncryptedObject.decode(sealed[0] ?? place);
  assert.deepEqual([stored.keyId, stored.encryptedDekSourceType], ["k1", dekSource.seed]);
  assert.equal(text(first.prefix), "k8s:enc:kms:v2:vault:");
  await assert.rejects(async () => second.open(sealed[0] ?? place, Buffer.from("/elsewhere")), /authentication failed/);
});

test("a new key of the service gives new values a new seed, and makes the old ones stale", async () => {
  await using service = await startService();
  const provider = await service.open();
  const old = provider.seal(Buffer.from("old"), place);
  assert.equal(provider.isStale(old), false);
  service.state.keyId = "k2";

  await service.probed(provider, () => provider.isStale(old));

  const fresh = provider.seal(Buffer.from("new"), place);
  assert.equal(EncryptedObject.decode(fresh).keyId, "k2");
  assert.equal(provider.isStale(fresh), false);
  assert.equal(text(await provider.open(old, place)), "old");
});

test("while the service is away writes go on for three minutes, and reads of known seeds for ever", async () => {
  await using service = await startService();
  const provider = await service.open();
  const sealed = provider.seal(Buffer.from("x"), place);
  service.state.isAway = true;

  await service.probed(provider, () => provider.fault !== undefined);
  provider.checkSeal();
  await service.clock.advance(180_000);
  assert.throws(() => provider.checkSeal(), /the key service vault has not confirmed its key since /);
  assert.equal(text(await provider.open(sealed, place)), "x");
  service.state.isAway = false;
  await service.probed(provider, () => provider.fault === undefined);

  provider.checkSeal();
});

test("a service that is away at the start is asked again", async () => {
  await using service = await startService();
  service.state.isAway = true;
  const provider = await service.open();

  assert.throws(() => provider.checkSeal(), /the key service vault is not ready: .*the vault is sealed/);
  service.state.isAway = false;
  await service.probed(provider, () => provider.fault === undefined);

  provider.checkSeal();
});

test("what an unhealthy or careless service says is not used", async () => {
  await using service = await startService();
  const faults: [change: object, fault: RegExp][] = [
    [{ healthz: "locked" }, /unexpected healthz status: locked/],
    [{ keyId: "" }, /keyID is empty/],
    [{ keyId: "k".repeat(2000) }, /keyID is 2000 bytes/],
    [{ annotations: [{ key: "no domain", value: Buffer.alloc(1) }] }, /not a fully qualified domain name/],
    [{ annotations: [{ key: "a.example.com", value: Buffer.alloc(40_000) }] }, /exceeds the max size of 32768/],
  ];
  const good = { ...service.state };
  for (const [change, fault] of faults) {
    Object.assign(service.state, good, change);
    assert.match((await service.open()).fault ?? "", fault);
  }
});

test("values that are not encrypted objects are refused", async () => {
  await using service = await startService();
  const provider = await service.open();
  const sealed = provider.seal(Buffer.from("x"), place);

  for (const value of [
    Buffer.from("junk"),
    Buffer.alloc(0),
    sealed.subarray(0, 20),
    sealed.subarray(0, sealed.length - 1),
  ]) {
    await assert.rejects(async () => provider.open(value, place));
  }
  const key = aesGcm(Buffer.alloc(32, 9));
  const oldForm = EncryptedObject.encode({
    encryptedData: key.seal(Buffer.from("old"), place),
    keyId: "k1",
    encryptedDekSource: aesGcm(Buffer.alloc(32, "k1")).seal(Buffer.alloc(32, 9), Buffer.from("kek")),
    annotations: service.state.annotations,
  });
  assert.equal(text(await provider.open(oldForm, place)), "old");
  assert.equal(provider.isStale(oldForm), true);
});
