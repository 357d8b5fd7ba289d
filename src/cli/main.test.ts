import assert from "node:assert/strict";
import { test } from "node:test";
import { GrpcError } from "#lib/proto/grpc/status.ts";
import { explainConnection } from "./main.ts";

const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });

test("a connection that the API server closed is explained by the kubeconfig's address", () => {
  const explained = explainConnection(new Error("GET /version failed", { cause: reset }));
  assert.match(explained ?? "", /its address in the kubeconfig must begin with https/);
});

test("a connection that etcd closed keeps its own error", () => {
  const cause = new GrpcError("UNAVAILABLE", "read ECONNRESET", { cause: reset });
  assert.equal(explainConnection(new Error("etcd did not confirm the request", { cause })), undefined);
});
