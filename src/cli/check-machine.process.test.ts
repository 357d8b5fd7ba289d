import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { isPodLink } from "#cluster/node-names.ts";
import { checkMachine, findOverlap, isServing, rangesOfCluster } from "./check-machine.ts";

const pods = { flag: "cluster-cidr", cidr: "10.244.0.0/16" };
const services = { flag: "service-cidr", cidr: "10.96.0.0/16" };
const local = [
  { link: "lo", cidr: "127.0.0.1/8" },
  { link: "orlop0", cidr: "10.244.0.1/24" },
];

const overlaps = [
  { ranges: [pods, services], addresses: [], says: undefined },
  { ranges: [pods, services], addresses: local, says: /--cluster-cidr 10\.244\.0\.0\/16 is in use.*orlop0 has/ },
  {
    ranges: [{ ...pods, cidr: "10.0.0.0/8" }, services],
    addresses: [],
    says: /--cluster-cidr.*--service-cidr.*overlap/,
  },
  { ranges: [services], addresses: [{ link: "eth0", cidr: "10.0.0.5/8" }], says: undefined },
  { ranges: [services], addresses: [{ link: "eth0", cidr: "10.96.0.5/8" }], says: /eth0 has 10\.96\.0\.5\/8/ },
  { ranges: [services], addresses: [{ link: "eth0", cidr: "10.95.255.255/16" }], says: undefined },
];
for (const { ranges, addresses, says } of overlaps) {
  test(`findOverlap() of ${JSON.stringify([ranges, addresses])}`, () => {
    const fault = findOverlap(ranges, addresses);

    if (says) assert.match(fault ?? "", says);
    else assert.equal(fault, undefined);
  });
}

test("isPodLink() finds the links of the cluster's own pods only", () => {
  assert.equal(isPodLink("veth12345678", "10.244.0.1/32", "10.244.0.0/16"), true);
  assert.equal(isPodLink("veth12345678", "10.244.0.1/32", "10.245.0.0/16"), false);
  assert.equal(isPodLink("veth12345678", "10.244.0.1/24", "10.244.0.0/16"), false);
  assert.equal(isPodLink("eth0", "10.244.0.1/32", "10.244.0.0/16"), false);
});

test("rangesOfCluster() reads another cluster's ranges from its command line", () => {
  const of = (...args: string[]) => rangesOfCluster({ pid: 7, args }).map(({ cidr }) => cidr);

  assert.deepEqual(of("node", "/x/orlop.ts", "up", "--foreground", "-v"), ["10.244.0.0/16", "10.96.0.0/16"]);
  assert.deepEqual(
    of("node", "orlop.ts", "up", "--foreground", "--cluster-cidr", "10.1.0.0/16", "--service-cidr=10.2.0.0/16"),
    ["10.1.0.0/16", "10.2.0.0/16"],
  );
  assert.deepEqual(of("vim", "orlop.ts"), []);
  assert.deepEqual(of("--foreground"), []);
});

test("a port in use is reported with its flag before anything is started", async () => {
  const server = createServer().listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const wanted = { ports: [{ flag: "kubelet-port", port }], ranges: [], ownLinks: [] };

  await assert.rejects(checkMachine(wanted), {
    name: "UserError",
    message: new RegExp(`port ${port} .*--kubelet-port$`),
  });
  assert.equal(await isServing(`https://127.0.0.1:${port}`), true);
  server.close();
  await once(server, "close");
  await checkMachine(wanted);

  assert.equal(await isServing(`https://127.0.0.1:${port}`), false);
});
