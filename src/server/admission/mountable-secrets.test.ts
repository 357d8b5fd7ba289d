import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceAccount } from "#api/core/service-account.ts";
import { admitPod, podWith, setUp } from "./admission.suite.ts";

test("an account can limit its pods to the secrets that it names", async () => {
  const set = setUp();
  const annotations = { "kubernetes.io/enforce-mountable-secrets": "true" };
  set.informers.put(ServiceAccount, {
    metadata: { name: "strict", namespace: "shop", annotations },
    secrets: [{ name: "ok" }],
  });
  const using = (secretName: string) =>
    podWith({ serviceAccountName: "strict", volumes: [{ name: "v", secret: { secretName } }] });

  await admitPod(using("ok"), {}, set);
  await assert.rejects(admitPod(using("other"), {}, set), {
    message:
      'pods "web" is forbidden: volume with secret.secretName="other" is not allowed because service account strict does not reference that secret',
  });
});
