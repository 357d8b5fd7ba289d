import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFlags } from "../command.ts";
import { auditFlags, auditOf } from "./audit-flags.ts";
import { encryptionOf, storageFlags } from "./storage-flags.ts";

const audit = (...args: string[]) => auditOf(parseFlags(args, auditFlags).values);
const policy = ["--audit-policy-file", "/p"];
const log = [...policy, "--audit-log-path", "/a.log"];

test("without flags nothing is recorded or encrypted", () => {
  assert.equal(audit(), undefined);
  assert.equal(encryptionOf(parseFlags([], storageFlags).values), undefined);
});

test("the audit log has upstream's defaults", () => {
  assert.deepEqual(audit(...log), {
    policyFile: "/p",
    log: {
      path: "/a.log",
      format: "json",
      mode: "blocking",
      maxBytes: 100 << 20,
      maxBackups: 100,
      maxAgeMs: 366 * 86_400_000,
      compress: false,
      bufferSize: 10_000,
      maxBatchSize: 1000,
      maxBatchWaitMs: 0,
      throttle: undefined,
      truncate: undefined,
    },
  });
  assert.equal(audit(...policy, "--audit-log-path", "-")?.log?.path, "-");
});

test("the audit webhook has upstream's defaults", () => {
  assert.deepEqual(audit(...policy, "--audit-webhook-config-file", "/hook")?.webhook, {
    file: "/hook",
    mode: "batch",
    initialBackoffMs: 10_000,
    bufferSize: 10_000,
    maxBatchSize: 400,
    maxBatchWaitMs: 30_000,
    throttle: { perSecond: 10, burst: 15 },
    truncate: undefined,
  });
});

test("compression, truncation and throttling can be chosen", () => {
  const { compress, truncate, throttle } =
    audit(
      ...log,
      "--audit-log-compress",
      "--audit-log-truncate-enabled",
      "--audit-log-truncate-max-event-size=2000",
      "--audit-log-batch-throttle-enable=true",
      "--audit-log-batch-throttle-qps=3",
    )?.log ?? {};
  assert.deepEqual(
    { compress, truncate, throttle },
    {
      compress: true,
      truncate: { maxEventBytes: 2000, maxBatchBytes: 10_485_760 },
      throttle: { perSecond: 3, burst: 15 },
    },
  );
});

const refused: readonly [args: string[], message: RegExp][] = [
  [["--audit-log-path", "/a"], /--audit-log-path records nothing without a policy: add --audit-policy-file FILE/],
  [["--audit-webhook-config-file", "/a"], /--audit-webhook-config-file records nothing without a policy/],
  [policy, /needs a place for the events: add --audit-log-path FILE/],
  [[...log, "--audit-log-mode", "fast"], /--audit-log-mode must be batch or blocking or blocking-strict, not "fast"/],
  [[...log, "--audit-log-format", "xml"], /--audit-log-format must be json or legacy, not "xml"/],
  [[...log, "--audit-log-maxsize=-1"], /--audit-log-maxsize must be a whole number/],
  [[...log, "--audit-log-compress=maybe"], /--audit-log-compress must be true or false, not "maybe"/],
  [
    [...log, "--audit-log-truncate-enabled", "--audit-log-truncate-max-event-size=1"],
    /--audit-log-truncate-max-event-size must be a whole number from 1024/,
  ],
  [[...log, "--audit-log-batch-buffer-size", "0"], /--audit-log-batch-buffer-size must be a whole number from 1/],
];
for (const [args, message] of refused) {
  test(`the flags ${args.join(" ")} are refused`, () => {
    assert.throws(() => audit(...args), message);
  });
}

test("a reload without a file is refused", () => {
  const args = ["--encryption-provider-config-automatic-reload"];
  assert.throws(() => encryptionOf(parseFlags(args, storageFlags).values), /add --encryption-provider-config FILE/);
});
