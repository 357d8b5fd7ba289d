import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { type Random, seededRandom } from "#lib/data/random.ts";
import { build } from "#testing/build.ts";
import { makeNode } from "#testing/scheduling.ts";
import { SliceIndex } from "../slice-index.ts";
import { Budget } from "./budget.ts";
import { isPossible } from "./find-devices.suite.ts";
import { findDevices, type PickedDevice, type SearchInput } from "./find-devices.ts";
import { UsedDevices } from "./used-devices.ts";
import { wantedBy } from "./wanted.ts";

type SliceSpec = InputOf<ResourceSlice>["spec"];
type ClaimDevices = NonNullable<NonNullable<InputOf<ResourceClaim>["spec"]>["devices"]>;

const driver = "d.example.com";
const classes = new Map(
  ["any", "even"].map((name) => [name, build(DeviceClass, { metadata: { name }, spec: {} })] as const),
);

/** Slices of one pool on one node, unless they say otherwise. */
function poolOf(...slices: Partial<SliceSpec>[]): SliceIndex {
  const index = new SliceIndex();
  slices.forEach((parts, at) => {
    const pool = { name: "p", generation: 1, resourceSliceCount: slices.length };
    const object = build(ResourceSlice, {
      metadata: { name: `s-${at}` },
      spec: { driver, pool, nodeName: "n", ...parts },
    });
    index.apply({ type: "put", object, previous: undefined, trace: undefined });
  });
  return index;
}

function inputOf(
  index: SliceIndex,
  claims: readonly ClaimDevices[],
  used = new UsedDevices(),
  steps = 50_000,
): SearchInput {
  const wanted = claims.map((devices, at) => {
    const one = wantedBy(build(ResourceClaim, { metadata: { name: `c-${at}` }, spec: { devices } }), (name) =>
      classes.get(name),
    );
    assert(typeof one === "object", String(one));
    return one;
  });
  return {
    pools: index.poolsOf(makeNode("n", { labels: { zone: "a" } })),
    claims: wanted,
    used,
    budget: new Budget(steps),
    // Without expressions: the class `even` has the devices with an even index.
    matches: ({ device }, { deviceClass }) =>
      deviceClass.metadata.name === "any" || (device.attributes?.index?.int ?? 1) % 2 === 0,
  };
}

const namesOf = (found: PickedDevice[][] | undefined) =>
  found?.map((picks) => picks.map(({ alternative, device }) => `${alternative.name}=${device.device.name}`));

const device = (name: string, index: number, more: object = {}) => ({
  name,
  attributes: { index: { int: index }, board: { string: index < 2 ? "left" : "right" } },
  ...more,
});
const four = { devices: ["a", "b", "c", "d"].map((name, at) => device(name, at)) };
const exactly = (more: object = {}) => ({ deviceClassName: "any", ...more });
const request = (name: string, more: object = {}) => ({ name, exactly: exactly(more) });
const board = `${driver}/board`;

const cases: { name: string; slices: Partial<SliceSpec>[]; claims: ClaimDevices[]; found: string[][] | undefined }[] = [
  { name: "takes the first device", slices: [four], claims: [{ requests: [request("r")] }], found: [["r=a"]] },
  {
    name: "takes as many as are asked for",
    slices: [four],
    claims: [{ requests: [request("r", { count: 2 }), request("s")] }],
    found: [["r=a", "r=b", "s=c"]],
  },
  { name: "refuses too many", slices: [four], claims: [{ requests: [request("r", { count: 5 })] }], found: undefined },
  {
    name: "takes all that match",
    slices: [four],
    claims: [{ requests: [{ name: "r", exactly: { deviceClassName: "even", allocationMode: "All" } }] }],
    found: [["r=a", "r=c"]],
  },
  {
    name: "does not take all if one of them is taken",
    slices: [four],
    claims: [{ requests: [request("r")] }, { requests: [request("s", { allocationMode: "All" })] }],
    found: undefined,
  },
  {
    name: "goes back to satisfy a later request",
    slices: [four],
    claims: [{ requests: [request("r"), { name: "s", exactly: { deviceClassName: "even", count: 2 } }] }],
    found: [["r=b", "s=a", "s=c"]],
  },
  {
    name: "matches an attribute over requests",
    slices: [four],
    claims: [
      {
        requests: [{ name: "r", exactly: { deviceClassName: "even" } }, request("s")],
        constraints: [{ matchAttribute: board }],
      },
    ],
    found: [["r=a", "s=b"]],
  },
  {
    name: "keeps an attribute distinct in the requests that it names",
    slices: [four],
    claims: [
      {
        requests: [request("r"), request("s"), request("t")],
        constraints: [{ requests: ["r", "s"], distinctAttribute: board }],
      },
    ],
    found: [["r=a", "s=c", "t=b"]],
  },
  {
    name: "takes the best alternative that is possible",
    slices: [four],
    claims: [
      {
        requests: [
          {
            name: "r",
            firstAvailable: [
              { name: "big", ...exactly({ count: 8 }) },
              { name: "small", ...exactly() },
            ],
          },
        ],
      },
    ],
    found: [["r/small=a"]],
  },
  {
    name: "honours taints",
    slices: [{ devices: [device("a", 0, { taints: [{ key: "k", effect: "NoSchedule" }] }), device("b", 1)] }],
    claims: [{ requests: [request("r")] }, { requests: [request("s", { tolerations: [{ operator: "Exists" }] })] }],
    found: [["r=b"], ["s=a"]],
  },
  {
    name: "lets devices take from common counters",
    slices: [
      { sharedCounters: [{ name: "mem", counters: { gb: { value: "40" } } }] },
      {
        devices: ["a", "b", "c"].map((name, at) =>
          device(name, at, {
            consumesCounters: [{ counterSet: "mem", counters: { gb: { value: at === 0 ? "30" : "20" } } }],
          }),
        ),
      },
    ],
    claims: [{ requests: [request("r", { count: 2 })] }],
    found: [["r=b", "r=c"]],
  },
  {
    name: "shares a device until its capacity is used up",
    slices: [
      {
        devices: [
          device("a", 0, { allowMultipleAllocations: true, capacity: { memory: { value: "10Gi" } } }),
          device("b", 1),
        ],
      },
    ],
    claims: ["6Gi", "4Gi"].map((memory) => ({ requests: [request("r", { capacity: { requests: { memory } } })] })),
    found: [["r=a"], ["r=a"]],
  },
  {
    name: "refuses a share that is too large",
    slices: [
      { devices: [device("a", 0, { allowMultipleAllocations: true, capacity: { memory: { value: "10Gi" } } })] },
    ],
    claims: ["6Gi", "5Gi"].map((memory) => ({ requests: [request("r", { capacity: { requests: { memory } } })] })),
    found: undefined,
  },
  {
    name: "ignores older generations of a pool",
    slices: [
      { ...four, pool: { name: "p", generation: 1, resourceSliceCount: 1 } },
      { devices: [device("z", 0)], pool: { name: "p", generation: 2, resourceSliceCount: 1 } },
    ],
    claims: [{ requests: [request("r")] }],
    found: [["r=z"]],
  },
  {
    name: "waits for the missing slices of a pool",
    slices: [{ ...four, pool: { name: "p", generation: 1, resourceSliceCount: 2 } }],
    claims: [{ requests: [request("r")] }],
    found: undefined,
  },
  {
    name: "looks at each device's nodes if they have their own",
    slices: [
      {
        nodeName: undefined,
        perDeviceNodeSelection: true,
        devices: [device("a", 0, { nodeName: "other" }), device("b", 1, { allNodes: true })],
      } as unknown as Partial<SliceSpec>,
    ],
    claims: [{ requests: [request("r")] }],
    found: [["r=b"]],
  },
];
for (const { name, slices, claims, found } of cases) {
  test(`findDevices() ${name}`, () =>
    assert.deepEqual(namesOf(findDevices(inputOf(poolOf(...slices), claims))), found));
}

test("findDevices() gives an administrator devices that are in use, and others not", () => {
  const used = new UsedDevices();
  const results = [{ request: "r", driver, pool: "p", device: "a" }];
  used.set("claim", { devices: { results } });
  const only = poolOf({ devices: [device("a", 0)] });

  assert.equal(findDevices(inputOf(only, [{ requests: [request("r")] }], used)), undefined);
  const found = findDevices(inputOf(only, [{ requests: [request("r", { adminAccess: true })] }], used));
  assert.deepEqual(namesOf(found), [["r=a"]]);
});

test("findDevices() refuses to ask for all devices of a pool that is being updated", () => {
  const index = poolOf({ ...four, pool: { name: "p", generation: 1, resourceSliceCount: 2 } });
  const input = inputOf(index, [{ requests: [request("r", { allocationMode: "All" })] }]);

  assert.throws(() => findDevices(input), /asks for all devices, but resource pool p is currently being updated/);
});

test("findDevices() gives up on a claim that takes too many steps", () => {
  const devices = Array.from({ length: 40 }, (_, at) => device(`x-${at}`, 2));
  const requests = [request("r", { count: 16 }), request("s"), request("t")];
  const constraints = [{ requests: ["s", "t"], distinctAttribute: board }];
  const input = inputOf(poolOf({ devices }), [{ requests, constraints }]);

  assert.throws(() => findDevices(input), /timed out trying to allocate devices/);
});

test("findDevices() counts what a step has to compare, so that no claim or device makes steps longer", () => {
  const names = Array.from({ length: 32 }, (_, at) => `n-${at}`);
  const allOf = <T>(value: T) => Object.fromEntries(names.map((name) => [name, value]));
  const spent = (parts: object, claim: Partial<ClaimDevices> = {}, rest: Partial<SliceSpec>[] = []): number => {
    const devices = Array.from({ length: 30 }, (_, at) => device(`x-${at}`, 0, parts));
    const input = inputOf(poolOf({ devices }, ...rest), [{ requests: [request("r", { count: 8 })], ...claim }]);
    const before = input.budget.left;
    findDevices(input);
    return before - input.budget.left;
  };
  const usual = spent({});
  const consumesCounters = [{ counterSet: "set", counters: allOf({ value: "1" }) }];
  const sharedCounters = [{ name: "set", counters: allOf({ value: "100" }) }];

  const hostile = {
    constraints: spent({}, { constraints: names.map(() => ({ matchAttribute: board })) }),
    counters: spent({ consumesCounters }, {}, [{ sharedCounters }]),
    capacities: spent({ capacity: allOf({ value: "1" }) }),
    tolerations: spent(
      { taints: names.slice(0, 16).map((key) => ({ key, effect: "NoSchedule" })) },
      { requests: [request("r", { count: 8, tolerations: names.map((key) => ({ key, operator: "Exists" })) })] },
    ),
  };

  for (const [what, steps] of Object.entries(hostile)) assert(steps > usual + 60, `${what}: ${steps}, else ${usual}`);
});

/** A small pool and claims that are often just possible. */
function randomInput(random: Random): SearchInput {
  const below = (n: number): number => Math.floor(random() * n);
  const maybe = <T>(share: number, value: T) => (random() < share ? [value] : []);
  const counted = random() < 0.3;
  const devices = Array.from({ length: 2 + below(4) }, (_, at) => {
    const isShared = random() < 0.3;
    return device(`x-${at}`, below(4), {
      ...(isShared ? { allowMultipleAllocations: true } : {}),
      ...(isShared || random() < 0.3 ? { capacity: { memory: { value: `${1 + below(4)}` } } } : {}),
      ...(counted ? { consumesCounters: [{ counterSet: "set", counters: { n: { value: `${below(4)}` } } }] } : {}),
      ...(random() < 0.2 ? { taints: [{ key: "k", effect: "NoSchedule" }] } : {}),
    });
  });
  const counters = { sharedCounters: [{ name: "set", counters: { n: { value: `${below(8)}` } } }] };
  const way = () => ({
    deviceClassName: random() < 0.7 ? "any" : "even",
    ...(random() < 0.2 ? { allocationMode: "All" } : { count: 1 + below(2) }),
    ...(random() < 0.3 ? { tolerations: [{ operator: "Exists" }] } : {}),
    ...(random() < 0.3 ? { capacity: { requests: { memory: `${1 + below(3)}` } } } : {}),
  });
  const claims = Array.from({ length: 1 + below(2) }, () => ({
    requests: Array.from({ length: 1 + below(2) }, (_, at) => {
      const name = `r-${at}`;
      if (random() < 0.3) return { name, firstAvailable: ["a", "b"].map((one) => ({ name: one, ...way() })) };
      return { name, exactly: { ...way(), ...(!counted && random() < 0.1 ? { adminAccess: true } : {}) } };
    }),
    constraints: [
      ...maybe(0.3, { matchAttribute: board }),
      ...maybe(0.2, { requests: ["r-0"], distinctAttribute: `${driver}/index` }),
    ],
  }));
  const used = new UsedDevices();
  for (const { name, ...rest } of devices) {
    if (random() > 0.2) continue;
    const share = "allowMultipleAllocations" in rest ? { shareID: "s", consumedCapacity: { memory: "1" } } : {};
    used.set(name, { devices: { results: [{ request: "r", driver, pool: "p", device: name, ...share }] } });
  }
  return inputOf(poolOf({ devices }, ...(counted ? [counters] : [])), claims as ClaimDevices[], used, 1_000_000);
}

/** `SEEDS=10000` for a long run. */
const seeds = Number(process.env.SEEDS ?? 600);

test("findDevices() finds devices exactly if trying everything does", () => {
  let possible = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const expected = isPossible(randomInput(seededRandom(seed)));
    const found = findDevices(randomInput(seededRandom(seed)));

    assert.equal(found !== undefined, expected, `seed ${seed}`);
    if (expected) possible++;
  }
  // Both outcomes must be common, or the comparison says little.
  assert(possible > seeds / 6 && possible < (seeds * 5) / 6, `${possible} of ${seeds} were possible`);
});
