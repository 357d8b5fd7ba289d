import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { parseLabelSelector } from "#api/meta/label-selector.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { listByLabels } from "./list-by-labels.ts";

const cases = [
  { selector: "app=a", namespace: "one", found: ["a-1", "a-2"] },
  { selector: "tier=web,app=b", namespace: "one", found: ["b-1"] },
  { selector: "app in (a)", namespace: "two", found: ["a-3"] },
  { selector: "app=none", namespace: "one", found: [] },
  // Nothing demands a value, so the caller has to look at all.
  { selector: "app!=a", namespace: "one", found: ["a-1", "a-2", "b-1"] },
  { selector: "app in (a,b)", namespace: "one", found: ["a-1", "a-2", "b-1"] },
];

for (const { selector, namespace, found } of cases) {
  test(`listByLabels() looks at no more than it needs for ${selector} in ${namespace}`, () => {
    const informers = createFakeInformers();
    const put = (name: string, inNamespace: string, app: string) =>
      informers.put(Pod, { metadata: { name, namespace: inNamespace, labels: { app, tier: "web" } } });
    put("a-1", "one", "a");
    put("a-2", "one", "a");
    put("b-1", "one", "b");
    put("a-3", "two", "a");

    const pods = listByLabels(informers.of(Pod), namespace, parseLabelSelector(selector));

    assert.deepEqual(pods.map(({ metadata }) => metadata.name).sort(), found);
  });
}

test("listByLabels() follows labels that change", () => {
  const informers = createFakeInformers();
  const pods = informers.of(Pod);
  const put = (app: string) => informers.put(Pod, { metadata: { name: "p", namespace: "one", labels: { app } } });
  const count = (app: string) => listByLabels(pods, "one", parseLabelSelector(`app=${app}`)).length;
  put("a");
  const before = [count("a"), count("b")];

  put("b");

  assert.deepEqual(
    [before, [count("a"), count("b")]],
    [
      [1, 0],
      [0, 1],
    ],
  );
});
