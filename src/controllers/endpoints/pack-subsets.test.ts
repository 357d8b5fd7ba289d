import assert from "node:assert/strict";
import { test } from "node:test";
import { type EndpointSubset, type Offer, packSubsets } from "./pack-subsets.ts";
import { truncateSubsets } from "./truncate-subsets.ts";

const port = (name: string, number: number) => ({ name, port: number, protocol: "TCP" });
const offer = (ip: string, ports: readonly ReturnType<typeof port>[], ready = true): Offer => ({
  address: { ip },
  ready,
  ports,
});
const short = (subsets: readonly EndpointSubset[]) =>
  subsets.map(({ addresses = [], notReadyAddresses = [], ports = [] }) =>
    [addresses.map(({ ip }) => ip), notReadyAddresses.map(({ ip }) => ip), ports.map(({ port }) => port)]
      .map(String)
      .join(" "),
  );

const http = port("http", 80);
const admin = port("admin", 90);
const cases: { name: string; offers: Offer[]; subsets: string[] }[] = [
  {
    name: "puts addresses with the same ports together",
    offers: [offer("2", [http, admin]), offer("1", [admin, http])],
    subsets: ["1,2  90,80"],
  },
  {
    name: "keeps addresses that are not ready apart",
    offers: [offer("1", [http]), offer("2", [http], false)],
    subsets: ["1 2 80"],
  },
  {
    name: "separates ports that different addresses have",
    offers: [offer("1", [http, admin]), offer("2", [port("http", 8080), admin])],
    subsets: ["1,2  90", "1  80", "2  8080"],
  },
  {
    name: "believes that an address is not ready",
    offers: [offer("1", [http]), offer("1", [http], false)],
    subsets: [" 1 80"],
  },
  {
    name: "joins what an address offers in several subsets",
    offers: [offer("1", [http]), offer("1", [admin])],
    subsets: ["1  90,80"],
  },
  {
    name: "splits ports of which only one is ready",
    offers: [offer("1", [http]), offer("1", [admin], false)],
    subsets: [" 1 90", "1  80"],
  },
  { name: "keeps addresses without ports", offers: [offer("2", []), offer("1", [])], subsets: ["1,2  "] },
  { name: "returns nothing for nothing", offers: [], subsets: [] },
];
for (const { name, offers, subsets } of cases) {
  test(`packSubsets() ${name}`, () => {
    assert.deepEqual(short(packSubsets(offers)), subsets);
    assert.deepEqual(packSubsets(offers.toReversed()), packSubsets(offers));
  });
}

const many = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, index) => ({ ip: `${prefix}.${index}` }));
const sizes = (subsets: readonly EndpointSubset[] | undefined) =>
  subsets?.map(({ addresses = [], notReadyAddresses = [] }) => [addresses.length, notReadyAddresses.length]);
const truncations = [
  { name: "leaves 1000 addresses", subsets: [[600, 400]], left: undefined },
  { name: "drops those that are not ready first", subsets: [[600, 500]], left: [[600, 400]] },
  {
    name: "keeps the share of each subset",
    subsets: [
      [900, 10],
      [600, 10],
    ],
    left: [
      [600, 0],
      [400, 0],
    ],
  },
  {
    name: "rounds up, and gives the last one the rest",
    subsets: [
      [0, 667],
      [0, 667],
      [0, 667],
    ],
    left: [
      [0, 334],
      [0, 334],
      [0, 332],
    ],
  },
];
for (const { name, subsets, left } of truncations) {
  test(`truncateSubsets() ${name}`, () => {
    const given = subsets.map(([ready = 0, not = 0], index) => ({
      addresses: many(ready, `r${index}`),
      notReadyAddresses: many(not, `n${index}`),
    }));

    assert.deepEqual(sizes(truncateSubsets(given)), left);
  });
}
