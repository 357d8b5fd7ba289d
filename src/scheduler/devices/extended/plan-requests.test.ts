import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceClass } from "#api/devices/device-class.ts";
import { build } from "#testing/build.ts";
import { asking, makePod } from "#testing/scheduling.ts";
import { type ClassFor } from "./class-for.ts";
import { planRequests } from "./plan-requests.ts";

const gpu = "example.com/gpu";
const nic = "example.com/nic";
const classFor: ClassFor = (resource) =>
  build(DeviceClass, { metadata: { name: resource.replace("example.com/", "") }, spec: {} });

/** Containers by name, with what they ask for. A name with a star is a sidecar's. */
type Containers = Readonly<Record<string, Readonly<Record<string, string>>>>;

const containersOf = (containers: Containers) =>
  Object.entries(containers).map(([name, requests]) => ({
    ...asking(requests, name.replace("*", "")),
    ...(name.endsWith("*") ? { restartPolicy: "Always" as const } : {}),
  }));

function plan({ init = {}, main }: { readonly init?: Containers; readonly main: Containers }, resources = [gpu]) {
  const pod = makePod("p", { containers: containersOf(main), initContainers: containersOf(init) });
  const { requests, mappings } = planRequests(pod, resources, classFor);
  return {
    requests: requests.map(({ name, exactly }) => `${name}: ${exactly?.count} ${exactly?.deviceClassName}`),
    uses: mappings.map((one) => `${one.containerName} ${one.requestName} ${one.resourceName.slice(12)}`),
  };
}

const cases: { name: string; of: Parameters<typeof plan>; requests: string[]; uses: string[] }[] = [
  {
    name: "gives every container its own request, named after its place and that of the resource",
    of: [{ main: { a: { cpu: "1", [gpu]: "2" }, b: {}, c: { [gpu]: "1" } } }],
    requests: ["container-0-request-1: 2 gpu", "container-2-request-0: 1 gpu"],
    uses: ["a container-0-request-1 gpu", "c container-2-request-0 gpu"],
  },
  {
    name: "plans several resources",
    of: [{ main: { a: { [gpu]: "1", [nic]: "2" } } }, [gpu, nic]],
    requests: ["container-0-request-0: 1 gpu", "container-0-request-1: 2 nic"],
    uses: ["a container-0-request-0 gpu", "a container-0-request-1 nic"],
  },
  {
    name: "leaves out what is not asked about, and what asks for nothing whole",
    of: [{ main: { a: { [gpu]: "0" }, b: { [nic]: "1" }, c: { [gpu]: "500m" } } }],
    requests: [],
    uses: [],
  },
  {
    name: "lets an init container use what later containers get",
    of: [{ init: { i: { [gpu]: "2" } }, main: { a: { [gpu]: "1" }, b: { [gpu]: "1" }, c: { [gpu]: "1" } } }],
    requests: ["container-1-request-0: 1 gpu", "container-2-request-0: 1 gpu", "container-3-request-0: 1 gpu"],
    uses: [
      "a container-1-request-0 gpu",
      "b container-2-request-0 gpu",
      "c container-3-request-0 gpu",
      "i container-1-request-0 gpu",
      "i container-2-request-0 gpu",
    ],
  },
  {
    name: "asks once for what all init containers lack, as much as the one that lacks most",
    of: [{ init: { i: { [gpu]: "2" }, j: { [gpu]: "4" } }, main: { a: { [gpu]: "1" } } }],
    requests: ["container-1-request-0: 3 gpu", "container-2-request-0: 1 gpu"],
    uses: [
      "a container-2-request-0 gpu",
      "i container-2-request-0 gpu",
      "i container-1-request-0 gpu",
      "j container-2-request-0 gpu",
      "j container-1-request-0 gpu",
    ],
  },
  {
    name: "does not take a sidecar's device for an init container after it",
    of: [{ init: { "s*": { [gpu]: "1" }, i: { [gpu]: "1" } }, main: { a: {} } }],
    requests: ["container-0-request-0: 1 gpu", "container-1-request-0: 1 gpu"],
    uses: ["s container-0-request-0 gpu", "i container-1-request-0 gpu"],
  },
];

for (const { name, of, requests, uses } of cases) {
  test(`the claim for extended resources ${name}`, () => {
    const found = plan(...of);

    assert.deepEqual({ requests: found.requests, uses: found.uses.toSorted() }, { requests, uses: uses.toSorted() });
  });
}
