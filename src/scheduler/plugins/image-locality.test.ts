import assert from "node:assert/strict";
import { test } from "node:test";
import { makeNode, makePod, scoresOf, snapshotOf } from "#testing/scheduling.ts";
import { imageLocality } from "./image-locality.ts";

const mebibyte = 1024 * 1024;
const withImages = (name: string, images: Record<string, number>) =>
  makeNode(name, {
    status: { images: Object.entries(images).map(([image, size]) => ({ names: [image], sizeBytes: size * mebibyte })) },
  });
const running = (...images: string[]) =>
  makePod("p", { containers: images.map((image, at) => ({ name: `c${at}`, image })) });

const cases = [
  { name: "0 where the image is missing", pod: running("web:1"), nodes: [{ "db:1": 900 }, {}], scores: [0, 0] },
  { name: "by size times spread", pod: running("web:1"), nodes: [{ "web:1": 1000 }, {}], scores: [48, 0] },
  {
    name: "an image that all nodes have in full",
    pod: running("web:1"),
    nodes: [{ "web:1": 1000 }, { "web:1": 1000 }],
    scores: [100, 100],
  },
  { name: "small images with 0", pod: running("web:1"), nodes: [{ "web:1": 23 }], scores: [0] },
  { name: "huge images with at most 100", pod: running("web:1"), nodes: [{ "web:1": 5000 }], scores: [100] },
  { name: "untagged images as latest", pod: running("web"), nodes: [{ "web:latest": 1000 }], scores: [100] },
  {
    name: "a registry's port not as a tag",
    pod: running("reg:5000/web"),
    nodes: [{ "reg:5000/web:latest": 1000 }],
    scores: [100],
  },
  { name: "the mean of all containers", pod: running("web:1", "db:1"), nodes: [{ "web:1": 1000 }], scores: [49] },
  {
    name: "init containers",
    pod: makePod("p", { initContainers: [{ name: "i", image: "db:1" }] }),
    nodes: [{ "db:1": 1000 }],
    scores: [49],
  },
  {
    name: "volumes that are images",
    pod: makePod("p", { volumes: [{ name: "v", image: { reference: "data:1" } }] }),
    nodes: [{ "data:1": 1000 }],
    scores: [100],
  },
];
for (const { name, pod, nodes, scores } of cases) {
  test(`ImageLocality scores ${name}`, () => {
    const snapshot = snapshotOf(nodes.map((images, at) => withImages(`n${at}`, images)));

    assert.deepEqual(scoresOf(imageLocality, pod, snapshot), scores);
  });
}

test("the basis of ImageLocality is how many nodes have each image", () => {
  const pod = running("web:1");
  const snapshot = snapshotOf([withImages("a", {}), withImages("b", { "db:1": 900 })]);
  const basis = () => imageLocality.basis?.(pod, snapshot);
  const nowhere = basis();

  snapshot.setNode(withImages("c", {}));
  assert.equal(basis(), nowhere);
  snapshot.setNode(withImages("a", { "web:1": 900 }));
  const once = basis();
  assert.notEqual(once, nowhere);
  snapshot.setNode(withImages("d", {}));
  assert.notEqual(basis(), once);
});
