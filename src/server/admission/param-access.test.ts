import assert from "node:assert/strict";
import { test } from "node:test";
import { MutatingAdmissionPolicyBinding } from "#api/admissionregistration/mutating-admission-policy-binding.ts";
import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/validating-webhook-configuration.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { requestFor } from "./admission.suite.ts";
import { paramAccess } from "./param-access.ts";
import { type AdmissionRequest } from "./plugin.ts";

const metadata = { name: "p" };
const secrets = { apiVersion: "v1", kind: "Secret" };

/** Answers what was asked for, and how the plugin refused it; a user may do what `allowed` names. */
async function ask(request: AdmissionRequest, allowed = "", policy?: object) {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    name: "test",
    authorize(_user, { verb, group, version, resource, namespace, name }) {
      const question = [verb, `${group}/${version}/${resource}`, `${namespace}/${name}`].join(" ");
      asked.push(question);
      return { verdict: question === allowed ? "allow" : "no opinion", reason: "" };
    },
  };
  const informers = createFakeInformers();
  if (policy) informers.put(ValidatingAdmissionPolicy, { metadata, spec: policy });
  const plugin = paramAccess({ informers, authorizers: [authorizer] });
  assert(plugin.appliesTo(request));
  const refusal = await Promise.resolve(plugin.validate?.(request)).then(
    () => "",
    (error: Error) => error.message,
  );
  return { asked, refusal };
}

const policyWith = (paramKind: object, part: Partial<AdmissionRequest> = {}): AdmissionRequest =>
  requestFor(ValidatingAdmissionPolicy, { metadata, spec: { paramKind } }, part);
const bindingWith = (paramRef: object, part: Partial<AdmissionRequest> = {}): AdmissionRequest =>
  requestFor(ValidatingAdmissionPolicyBinding, { metadata, spec: { policyName: "p", paramRef } }, part);

test("who may not read all objects of a kind cannot make them parameters", async () => {
  const all = "get /v1/secrets */*";

  assert.deepEqual(await ask(policyWith(secrets)), {
    asked: [all],
    refusal:
      'ValidatingAdmissionPolicy.admissionregistration.k8s.io "p" is invalid: spec.paramKind: Forbidden: user jane must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)',
  });
  assert.equal((await ask(policyWith(secrets), all)).refusal, "");
});

test("parameters of an unknown kind need access to all resources of its group", async () => {
  const { asked, refusal } = await ask(policyWith({ apiVersion: "example.com/v1", kind: "Limit" }));

  assert.deepEqual(asked, ["get example.com/v1/* */*"]);
  assert.match(refusal, /spec\.paramKind: Forbidden/);
});

test("only a change of the parameters of a policy is checked, and not for administrators", async () => {
  const before = { metadata, spec: { paramKind: secrets } } as never;
  const unchanged = policyWith(secrets, { operation: "UPDATE", oldObject: before });
  const byAdmin = policyWith(secrets, { user: { name: "admin", groups: ["system:masters"] } });

  for (const request of [unchanged, byAdmin, requestFor(ValidatingAdmissionPolicy, { metadata, spec: {} })]) {
    assert.deepEqual(await ask(request), { asked: [], refusal: "" });
  }
});

test("a binding needs access to the parameters that it names", async () => {
  const one = "get /v1/secrets shop/s";

  const { asked, refusal } = await ask(bindingWith({ namespace: "shop", name: "s" }), "", { paramKind: secrets });

  assert.deepEqual(asked, [one]);
  assert.match(
    refusal,
    /spec\.paramRef: Forbidden: user jane does not have "get" permission on the object referenced by paramRef$/,
  );
  assert.equal((await ask(bindingWith({ namespace: "shop", name: "s" }), one, { paramKind: secrets })).refusal, "");
});

test("a binding that selects parameters needs to list them", async () => {
  const { asked } = await ask(bindingWith({ selector: {} }), "", { paramKind: secrets });

  assert.deepEqual(asked, ["list /v1/secrets /"]);
});

test("a binding needs access to everything while the kind of its parameters is not known", async () => {
  const withoutPolicy = await ask(bindingWith({ name: "s" }));
  const unknownKind = await ask(bindingWith({ name: "s" }), "", { paramKind: { apiVersion: "a.b/v1", kind: "C" } });
  const spec = { policyName: "p", paramRef: { name: "s" } };
  const ofOtherType = await ask(requestFor(MutatingAdmissionPolicyBinding, { metadata, spec }), "", {
    paramKind: secrets,
  });

  assert.deepEqual(withoutPolicy.asked, ["get */*/* /s"]);
  assert.match(withoutPolicy.refusal, /unable to get policy p to determine minimum required permissions and user jane/);
  assert.deepEqual(unknownKind.asked, ["get a.b/v1/* /s"]);
  assert.match(unknownKind.refusal, /unable to resolve paramKind \{a\.b\/v1 C\} to determine minimum/);
  assert.deepEqual(ofOtherType.asked, withoutPolicy.asked);
});

test("a binding is checked again if it gets another policy", async () => {
  const before = { metadata, spec: { policyName: "old", paramRef: { name: "s" } } } as never;
  const moved = bindingWith({ name: "s" }, { operation: "UPDATE", oldObject: before });
  const same = bindingWith({ name: "s" }, { operation: "UPDATE", oldObject: bindingWith({ name: "s" }).object });

  assert.equal((await ask(moved)).asked.length, 1);
  assert.deepEqual((await ask(same)).asked, []);
});

test("other kinds and the status of a policy are not checked", () => {
  const plugin = paramAccess({ informers: createFakeInformers(), authorizers: [] });

  assert.equal(plugin.appliesTo(requestFor(ValidatingWebhookConfiguration, { metadata })), false);
  assert.equal(plugin.appliesTo(policyWith(secrets, { operation: "UPDATE", subresource: "status" })), false);
});
