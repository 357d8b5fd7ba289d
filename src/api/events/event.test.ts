import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { eventsV1, fromStored, toStored } from "./event.ts";

const metadata = { name: "a.1", namespace: "default" };
const old = {
  metadata,
  involvedObject: { kind: "Pod", namespace: "default", name: "a" },
  reason: "Started",
  message: "it runs",
  source: { component: "kubelet", host: "one" },
  count: 3,
  type: "Normal",
  firstTimestamp: "2020-01-01T00:00:00Z",
  lastTimestamp: "2020-01-01T00:05:00Z",
};

test("an Event comes back from its newer form as it was", () => {
  const event = read(Event, { kind: "Event", apiVersion: "v1", ...old });

  const newer = fromStored(event);

  assert.equal(newer.apiVersion, "events.k8s.io/v1");
  assert.equal(newer.note, "it runs");
  assert.deepEqual(newer.regarding, event.involvedObject);
  assert.equal(newer.deprecatedCount, 3);
  assert.deepEqual(toStored(newer), event);
});

test("an Event is about something in its own namespace", () => {
  assert.deepEqual(faultsOf(Event, old), []);
  assert.deepEqual(faultsOf(Event, { ...old, involvedObject: { namespace: "other" } }), [
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ]);
});

test("an Event of the newer form says who reports what", () => {
  const faults = faultsOf(eventsV1, {
    metadata,
    regarding: { namespace: "default" },
    deprecatedCount: 1,
    series: { count: 1 },
  });

  assert.deepEqual(faults, [
    'series.count: Invalid value: "": should be at least 2',
    "series.lastObservedTime: Required value",
    "eventTime: Required value",
    'type: Invalid value: "": has invalid value: ',
    'count: Invalid value: "": needs to be unset',
  ]);
  const report = {
    metadata,
    eventTime: "2020-01-01T00:00:00.000001Z",
    type: "Normal",
    regarding: { namespace: "default" },
  };
  assert.deepEqual(
    faultsOf(eventsV1, { ...report, reportingController: "x/y", reportingInstance: "z", action: "a", reason: "r" }),
    [],
  );
  assert.deepEqual(faultsOf(eventsV1, { ...report, reportingController: "x/y", action: "a" }), [
    "reportingInstance: Required value",
    "reason: Required value",
  ]);
});

test("only the series of a newer Event can change", () => {
  const before = {
    metadata: { ...metadata, resourceVersion: "1" },
    regarding: { namespace: "default" },
    note: "a",
    type: "Normal",
  };
  const after = { ...before, note: "b", series: { count: 2, lastObservedTime: "2020-01-01T00:00:00.000000Z" } };

  assert.deepEqual(updateFaultsOf(eventsV1, after, before), ['message: Invalid value: "b": field is immutable']);
});

test("the columns of an Event show when it was last seen", () => {
  const cells = Event.columns.map(({ value }) => value(read(Event, old), Date.parse("2020-01-01T00:06:00Z")));

  assert.deepEqual(cells, ["60s", "Normal", "Started", "pod/a", "", "kubelet, one", "it runs", "6m", 3, "a.1"]);
});

test("finalizers of the newer form alone need a domain", () => {
  const finalizers = ["wait"];
  const inMetadata = (faults: readonly string[]) => faults.filter((fault) => fault.startsWith("metadata."));

  assert.deepEqual(inMetadata(faultsOf(Event, { ...old, metadata: { ...metadata, finalizers } })), []);
  assert.equal(inMetadata(faultsOf(eventsV1, { metadata: { ...metadata, finalizers } })).length, 1);
});
