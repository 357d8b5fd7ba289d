import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { KeptCertificate, planRenewal } from "./kept-certificate.ts";

const dayMs = 86_400_000;
const lifeMs = 100 * dayMs;
const subject = { commonName: "system:node:a" };

test("planRenewal() is after 70 to 90 percent of a certificate's life", () => {
  const at = Date.parse("2026-01-01T00:00:00Z");
  const authority = createAuthority({ subject, notBeforeMs: at, notAfterMs: at + lifeMs });

  assert.equal(planRenewal(authority, 0), at + 70 * dayMs);
  assert.equal(planRenewal(authority, 1), at + 90 * dayMs);
});

test("a certificate is renewed before it expires, also if the first attempt fails", async () => {
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-kept-"));
  const clock = createVirtualClock();
  const authority = createAuthority({ subject, notBeforeMs: 0, notAfterMs: clock.now() + 10 * lifeMs });
  const made: string[] = [];
  let isDown = false;
  const obtain = async () => {
    if (isDown) {
      isDown = false;
      throw new Error("the server is away");
    }
    const validity = { notBeforeMs: clock.now(), notAfterMs: clock.now() + lifeMs };
    const pair = createCertificate(authority, { subject, use: "client", ...validity });
    made.push(pair.certificate);
    return pair;
  };
  const options = { file: path.join(dir, "a.pem"), clock, random: () => 0.5, log: silentLog, fits: () => true };
  const kept = await KeptCertificate.open(options, obtain);
  const renewed = Promise.withResolvers<string>();
  kept.onChange(({ certificate }) => renewed.resolve(certificate));
  const stop = new AbortController();
  const ended = kept.run(obtain, stop.signal).catch(() => undefined);

  await clock.advance(79 * dayMs);
  const early = made.length;
  isDown = true;
  await clock.advance(2 * dayMs);
  const second = await renewed.promise;
  stop.abort(new Error("the test is over"));
  await ended;
  const again = await KeptCertificate.open(options, () => assert.fail("not asked for"));

  assert.equal(early, 1);
  assert.equal(second, made[1]);
  assert.equal(kept.current.certificate, made[1]);
  assert.equal(again.current.certificate, made[1]);
  await rm(dir, { recursive: true });
});
