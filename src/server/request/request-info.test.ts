import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRequestInfo } from "./request-info.ts";

/** `verb group/version resource namespace name subresource rest`, with `-` for empty parts. */
function read(line: string): string {
  const [method = "", url = ""] = line.split(" ");
  const [path = "", query = ""] = url.split("?");
  const info = parseRequestInfo(method, path, new URLSearchParams(query));
  if (!info.isResource) return `${info.verb} path`;
  const { verb, group, version, resource, namespace, name, subresource, rest } = info;
  return [verb, `${group}/${version}`, resource, namespace, name, subresource, rest]
    .map((part) => part || "-")
    .join(" ");
}

const cases: Readonly<Record<string, string>> = {
  "GET /api/v1/pods": "list /v1 pods - - - -",
  "GET /api/v1/pods/": "list /v1 pods - - - -",
  "HEAD /api/v1/namespaces/a/pods/web": "get /v1 pods a web - -",
  "GET /api/v1/pods?watch": "watch /v1 pods - - - -",
  "GET /api/v1/pods?watch=false": "list /v1 pods - - - -",
  "GET /api/v1/pods?watch=False": "list /v1 pods - - - -",
  "GET /api/v1/namespaces/a/pods/web?watch=1": "get /v1 pods a web - -",
  "POST /apis/apps/v1/namespaces/a/deployments": "create apps/v1 deployments a - - -",
  "DELETE /apis/apps/v1/namespaces/a/deployments": "deletecollection apps/v1 deployments a - - -",
  "DELETE /apis/apps/v1/namespaces/a/deployments/web": "delete apps/v1 deployments a web - -",
  "PATCH /apis/apps/v1/namespaces/a/deployments/web/scale": "patch apps/v1 deployments a web scale -",
  "GET /api/v1/namespaces/a": "get /v1 namespaces a a - -",
  "GET /api/v1/namespaces/a/": "get /v1 namespaces a a - -",
  "PUT /api/v1/namespaces/a/finalize": "update /v1 namespaces a a finalize -",
  "GET /api/v1/namespaces": "list /v1 namespaces - - - -",
  "GET /api/v1/namespaces/a/services/web:http/proxy/x//y": "get /v1 services a web:http proxy /x//y",
  "GET /api/v1/namespaces/a/pods/web/proxy/": "get /v1 pods a web proxy /",
  "GET /api/v1/nodes/a%20b": "get /v1 nodes - a b - -",
  "GET /api/v1/watch/pods": "watch /v1 pods - - - -",
  "GET /api/v1/watch/namespaces/a/pods/web": "watch /v1 pods a web - -",
  "OPTIONS /api/v1/pods": "options /v1 pods - - - -",
  "GET /api/v1": "get path",
  "GET /apis/apps/v1/": "get path",
  "POST /healthz": "post path",
  "GET /api/v1/namespaces//pods": "get path",
  "GET /api/v1/namespaces/a/pods//log": "get path",
  "GET /apis//v1/pods": "get path",
};

for (const [line, expected] of Object.entries(cases)) {
  test(`parseRequestInfo() reads ${line}`, () => {
    assert.equal(read(line), expected);
  });
}

test("parseRequestInfo() refuses a path that is not valid percent-encoding", () => {
  assert.throws(() => read("GET /api/v1/nodes/%zz"), { code: 400 });
});

test("parseRequestInfo() refuses names that are too long to look up, but accepts long proxied paths", () => {
  const long = "x".repeat(2049);

  for (const path of [
    `/api/v1/namespaces/${long}/pods`,
    `/api/v1/${long}`,
    `/apis/${long}/v1/pods`,
    `/${long.repeat(5)}`,
  ]) {
    assert.throws(() => read(`GET ${path}`), { code: 400 });
  }
  assert.equal(read(`GET /api/v1/nodes/a/proxy/${long}`), `get /v1 nodes - a proxy /${long}`);
});
