import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { type Informer } from "#runtime/informer.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { Selections } from "./selections.ts";

const namespace = "shop";

function setUp() {
  const informers = createFakeInformers();
  let reads = 0;
  const pods = informers.of(Pod);
  /** Counts the pods that are looked at. */
  const counted: Informer<Pod> = {
    ...pods,
    revision: 0,
    subscribe: (handler) => pods.subscribe(handler),
    list(of) {
      const all = pods.list(of);
      reads += all.length;
      return all;
    },
    get(ref) {
      reads++;
      return pods.get(ref);
    },
  };
  const selections = new Selections(informers.of(Service), counted);
  const stop = selections.follow(() => undefined);
  return {
    selections,
    stop,
    readsOf<R>(task: () => R): number {
      reads = 0;
      task();
      return reads;
    },
    service: (name: string, selector: Record<string, string>) =>
      informers.put(Service, { metadata: { namespace, name }, spec: { selector } }),
    pod: (name: string, labels: Record<string, string>) =>
      informers.put(Pod, { metadata: { namespace, name, labels } }),
    removeService: (name: string) => informers.delete(Service, { namespace, name }),
    removePod: (name: string) => informers.delete(Pod, { namespace, name }),
    namesFor: (labels: Record<string, string>) =>
      [...selections.servicesFor(namespace, labels)].map(({ name }) => name).sort(),
  };
}

test("Selections finds the pods of a service, and the services of a pod", () => {
  const world = setUp();
  world.pod("web-1", { app: "web", tier: "ui" });
  const web = world.service("web", { app: "web", tier: "ui" });
  world.service("ui", { tier: "ui" });
  world.pod("web-2", { app: "web", tier: "ui" });
  world.pod("api-1", { app: "api", tier: "ui" });

  const names = () => world.selections.podsOf(web).map(({ metadata }) => metadata.name);
  assert.deepEqual(names(), ["web-1", "web-2"]);
  assert.deepEqual(world.namesFor({ app: "web", tier: "ui" }), ["ui", "web"]);
  assert.deepEqual(world.namesFor({ app: "api", tier: "ui" }), ["ui"]);
  world.pod("web-2", { app: "other" });
  world.removePod("web-1");
  assert.deepEqual(names(), []);
  world.removeService("web");
  world.service("ui", { tier: "back" });
  assert.deepEqual(world.namesFor({ app: "web", tier: "ui" }), []);
  assert.deepEqual(world.namesFor({ tier: "back" }), ["ui"]);
});

test("Selections selects nothing for services without a selector", () => {
  const world = setUp();
  world.pod("a", { app: "a" });
  const empty = world.service("empty", {});

  assert.deepEqual(world.selections.podsOf(empty), []);
  assert.deepEqual(world.namesFor({ app: "a" }), []);
});

test("Selections looks at the pods of a service only, also if all share most labels", () => {
  const world = setUp();
  const labels = (of: number) => ({ tier: "ui", release: "1", app: `app-${of}` });
  const services = Array.from({ length: 100 }, (_, of) => world.service(`s${of}`, labels(of)));
  for (let index = 0; index < 1000; index++) world.pod(`p${index}`, labels(index % 100));

  for (const service of services) {
    assert.equal(
      world.readsOf(() => world.selections.podsOf(service)),
      10,
    );
  }
  assert.deepEqual(world.namesFor(labels(7)), ["s7"]);
  world.stop();
  assert.deepEqual(world.selections.podsOf(services[0] as Service), []);
});
