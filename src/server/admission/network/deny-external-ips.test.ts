import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { build } from "#testing/build.ts";
import { requestFor } from "../admission.suite.ts";
import { createAdmission } from "../chain.ts";
import { denyExternalIPs } from "./deny-external-ips.ts";

const admission = createAdmission([denyExternalIPs]);
const service = (...externalIPs: string[]) =>
  build(Service, { metadata: { name: "web", namespace: "shop" }, spec: { externalIPs } });
const create = (...addresses: string[]) => admission.validate(requestFor(Service, service(...addresses)));
const change = (from: string[], to: string[]) =>
  admission.validate(requestFor(Service, service(...to), { operation: "UPDATE", oldObject: service(...from) }));
const refused = {
  code: 403,
  message: 'services "web" is forbidden: Use of external IPs is denied by admission control',
};

test("a service gets no external address that it does not have", () => {
  assert.throws(() => create("192.0.2.1"), refused);
  assert.throws(() => change(["192.0.2.1"], ["192.0.2.1", "192.0.2.2"]), refused);
});

test("a service without external addresses passes, and one that has some may keep and drop them", () => {
  assert.equal(create(), undefined);
  assert.equal(change(["192.0.2.1", "192.0.2.2"], ["192.0.2.2"]), undefined);
});
