import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { warningsOf } from "../rules.ts";
import { CSIDriver } from "./csi-driver.ts";

const metadata = { name: "csi.example.com" };
const driver = (spec: object) => ({ metadata, spec });

test("a CSIDriver gets its defaults and shows them", () => {
  const plain = read(CSIDriver, { metadata });

  assert.deepEqual(plain.spec, {
    attachRequired: true,
    podInfoOnMount: false,
    volumeLifecycleModes: ["Persistent"],
    storageCapacity: false,
    fsGroupPolicy: "ReadWriteOnceWithFSType",
    requiresRepublish: false,
    seLinuxMount: false,
  });
  assert.deepEqual(
    CSIDriver.columns.map(({ name, value }) => [name, value(plain, 0)]),
    [
      ["AttachRequired", true],
      ["PodInfoOnMount", false],
      ["StorageCapacity", false],
      ["TokenRequests", "<unset>"],
      ["RequiresRepublish", false],
      ["Modes", "Persistent"],
      ["Age", "<unknown>"],
    ],
  );
});

const cases = [
  {
    name: "takes good settings",
    spec: {
      volumeLifecycleModes: ["Ephemeral", "Persistent"],
      tokenRequests: [{ audience: "" }, { audience: "vault", expirationSeconds: 600 }],
      serviceAccountTokenInSecrets: true,
      nodeAllocatableUpdatePeriodSeconds: 10,
    },
    faults: [],
  },
  {
    name: "knows modes and policies",
    spec: { volumeLifecycleModes: ["Eternal"], fsGroupPolicy: "Some" },
    faults: [
      'spec.fsGroupPolicy: Unsupported value: "Some": supported values: "File", "None", "ReadWriteOnceWithFSType"',
      'spec.volumeLifecycleModes: Unsupported value: "Eternal": supported values: "Persistent", "Ephemeral"',
    ],
  },
  {
    name: "asks for one token of an audience, for some minutes",
    spec: {
      tokenRequests: [
        { audience: "a", expirationSeconds: 599 },
        { audience: "a", expirationSeconds: 1 },
        { audience: "b", expirationSeconds: 2 ** 32 + 1 },
      ],
    },
    faults: [
      "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
      'spec.tokenRequests[1].audience: Duplicate value: "a"',
      "spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
    ],
  },
  {
    name: "needs tokens to hide them, and time between updates",
    spec: { serviceAccountTokenInSecrets: false, nodeAllocatableUpdatePeriodSeconds: 9 },
    faults: [
      "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
      "spec.serviceAccountTokenInSecrets: Invalid value: false: serviceAccountTokenInSecrets is set but no tokenRequests are specified",
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a CSIDriver ${name}`, () => assert.deepEqual(faultsOf(CSIDriver, driver(spec)), faults));
}

test("a CSIDriver keeps how it attaches volumes, and which", () => {
  const changed = driver({ attachRequired: false, volumeLifecycleModes: ["Ephemeral"], podInfoOnMount: true });

  assert.deepEqual(updateFaultsOf(CSIDriver, changed, driver({})), [
    "spec.attachedRequired: Invalid value: false: field is immutable",
    'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
  ]);
  assert.deepEqual(updateFaultsOf(CSIDriver, driver({ podInfoOnMount: true }), driver({})), []);
});

test("a CSIDriver counts the changes of its spec", () => {
  const generationAfter = (spec: object): number | undefined => {
    const next = read(CSIDriver, driver(spec));
    CSIDriver.prepareForUpdate?.(next, read(CSIDriver, driver({})));
    return next.metadata.generation;
  };

  assert.deepEqual([generationAfter({}), generationAfter({ podInfoOnMount: true })], [undefined, 1]);
});

test("a CSIDriver loses a setting that is not enabled, unless it had it before", () => {
  const sent = driver({ preventPodSchedulingIfMissing: true });
  const created = read(CSIDriver, sent);
  CSIDriver.prepareForCreate?.(created);
  const [added, kept] = [read(CSIDriver, sent), read(CSIDriver, sent)];
  CSIDriver.prepareForUpdate?.(added, read(CSIDriver, driver({})));
  CSIDriver.prepareForUpdate?.(kept, read(CSIDriver, sent));

  const settings = [created, added, kept].map(({ spec }) => spec.preventPodSchedulingIfMissing);
  assert.deepEqual(settings, [undefined, undefined, true]);
});

test("a CSIDriver warns of tokens that may be logged, when they are new", () => {
  const tokens = driver({ tokenRequests: [{ audience: "vault" }] });
  const old = read(CSIDriver, tokens);

  assert.deepEqual(warningsOfNew(CSIDriver, tokens), [
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
  ]);
  assert.equal(warningsOf(CSIDriver, old, read(CSIDriver, driver({}))).length, 1);
  assert.deepEqual(warningsOf(CSIDriver, read(CSIDriver, tokens), old), []);
});
