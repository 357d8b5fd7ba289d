import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { notFound } from "#api/status.ts";
import { type Client, type ObjectRef, refOf } from "#client/client.ts";
import { podWith, requestFor, setUp } from "./admission.suite.ts";

test("an object in a namespace that does not exist is refused", async () => {
  const { admit } = setUp();

  await assert.rejects(admit(requestFor(Pod, podWith(), { namespace: "x" })), {
    code: 404,
    message: 'namespaces "x" not found',
  });
});

test("a namespace that the cache has not seen yet is looked up", async () => {
  const found = { metadata: { name: "new" }, status: { phase: "Active" } };
  const client: Pick<Client, "get"> = {
    get: async <T extends ApiObject>(resource: Resource<T>, ref: ObjectRef) => {
      const { name } = refOf(ref);
      if (resource.kind === "Namespace" && name === "new") return found as unknown as T;
      throw notFound(resource, name);
    },
  };
  const { admit } = setUp({ client });

  await admit(requestFor(ServiceAccount, { metadata: { name: "sa" } }, { namespace: "new" }));
  await assert.rejects(admit(requestFor(ServiceAccount, { metadata: { name: "sa" } }, { namespace: "gone" })), {
    message: 'namespaces "gone" not found',
  });
});

test("a terminating namespace refuses new objects but allows changes of existing ones", async () => {
  const { admit, informers } = setUp();
  informers.put(Namespace, { metadata: { name: "shop" }, status: { phase: "Terminating" } });
  const account = { metadata: { name: "sa" } };

  await assert.rejects(admit(requestFor(ServiceAccount, account)), {
    code: 403,
    message:
      'serviceaccounts "sa" is forbidden: unable to create new content in namespace shop because it is being terminated',
    details: {
      name: "sa",
      kind: "serviceaccounts",
      causes: [
        {
          reason: "NamespaceTerminating",
          message: "namespace shop is being terminated",
          field: "metadata.namespace",
        },
      ],
    },
  });
  await admit(requestFor(ServiceAccount, account, { operation: "UPDATE", oldObject: account }));
});

test("system namespaces cannot be deleted", async () => {
  const { admit } = setUp();
  const remove = (name: string) => admit(requestFor(Namespace, undefined, { operation: "DELETE", name }));

  for (const name of ["default", "kube-system", "kube-public", "kube-node-lease"]) {
    await assert.rejects(remove(name), {
      message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    });
  }
  await remove("shop");
});
