import assert from "node:assert/strict";
import { test } from "node:test";
import { maxReviewBytes } from "#server/http/limits.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster } from "#testing/start-cluster.ts";

const path = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const reviewOf = (namespace: string) => ({
  spec: { resourceAttributes: { verb: "get", resource: "pods", namespace } },
});

test("a review is answered if it is of a sensible size and of its namespace, and refused otherwise", async () => {
  await using cluster = await startCluster({ controllers: false });

  const short = await ask(cluster.api.server, path, { body: reviewOf("default") });
  const long = await ask(cluster.api.server, path, { body: reviewOf("n".repeat(maxReviewBytes)) });

  const local = (metadata?: object) =>
    ask(cluster.api.server, "POST /apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews", {
      body: { metadata, spec: { user: "jane", resourceAttributes: { verb: "get", namespace: "shop" } } },
    });
  const [placed, other] = [await local(), await local({ namespace: "ops" })];

  assert.equal(placed.status, 201);
  assert.equal(other.status, 400);
  assert.equal(short.status, 201);
  assert.equal(long.status, 413);
});
