import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { explain } from "../explain.ts";

const explained = (status: unknown) =>
  explain({
    about: "object",
    nowMs: 0,
    resource: ConfigMap,
    object: Object.assign({ metadata: { name: "web", namespace: "default" } }, { status }),
  });
const condition = (type: string, status: string, reason: string, message = "") => ({ type, status, reason, message });

test("explain() tells what the listeners of a Gateway report before its summary", () => {
  const { headline, state, evidence } = explained({
    conditions: [condition("Accepted", "False", "ListenersNotValid", "some listeners are not valid")],
    listeners: [
      { name: "http", conditions: [condition("Accepted", "False", "PortUnavailable", "port 80: use port 8080")] },
    ],
  });
  assert.match(headline, /listener http: Accepted is False \(PortUnavailable\): port 80: use port 8080\.$/);
  assert.equal(state, "PortUnavailable");
  assert.equal(evidence.length, 2);
});

test("explain() tells what the parents of a route report", () => {
  const parent = { parentRef: { name: "gate" }, conditions: [condition("ResolvedRefs", "False", "BackendNotFound")] };
  assert.match(explained({ parents: [parent] }).headline, /parent gate: ResolvedRefs is False \(BackendNotFound\)\.$/);
});

test("explain() tells what type checking found in a policy", () => {
  const warning = "apps/v1, Kind=Deployment: ERROR: undefined field 'replica'";
  const expressionWarnings = [{ fieldRef: "spec.validations[0].expression", warning }];
  const { state, headline } = explained({ typeChecking: { expressionWarnings }, conditions: [] });
  assert.equal(state, "TypeWarning");
  assert.match(
    headline,
    /has 1 expression that .*: spec\.validations\[0\]\.expression: apps\/v1, Kind=Deployment: ERROR/,
  );
});

test("explain() judges only conditions whose good value is known", () => {
  const conditions = [condition("Conflicted", "False", "NoConflicts"), condition("Ready", "True", "Ok")];
  const { headline, evidence } = explained({ conditions });
  assert.match(headline, /its conditions report no problem/);
  assert.deepEqual(evidence, ["Conflicted is False (NoConflicts)", "Ready is True (Ok)"]);
});

test("explain() survives a status of any shape, and shows neither control characters nor endless text", () => {
  const hostile = condition("Ready", "False", "\u001b[2J", `a\nb${"x".repeat(9000)}`);
  const { headline } = explained({ conditions: [hostile] });
  assert.doesNotMatch(headline, /\p{Cc}/u);
  assert(headline.length < 2000);
  const many = Array.from({ length: 500 }, () => condition("Ready", "True", ""));
  assert.equal(explained({ conditions: many }).evidence.length, 20);
  for (const odd of [
    undefined,
    null,
    "text",
    [],
    { conditions: "x" },
    { conditions: [null, 1] },
    { listeners: [{}] },
  ]) {
    assert.match(explained(odd).headline, /exists and is not being deleted/);
  }
});
