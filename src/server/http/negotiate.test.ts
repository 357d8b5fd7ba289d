import assert from "node:assert/strict";
import { test } from "node:test";
import { negotiate } from "./negotiate.ts";

const table = (version: string, type = "json") => `application/${type};as=Table;v=${version};g=meta.k8s.io`;
const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const protobuf = "application/vnd.kubernetes.protobuf";

/** `encoding as version discovery`, with `!` where only the transformation is acceptable. Version 1 is not named. */
const cases: Readonly<Record<string, string>> = {
  "": "json",
  "*/*": "json",
  "text/html,application/xml;q=0.9,*/*;q=0.8": "json",
  "application/yaml": "yaml",
  "Application/JSON; charset=utf-8": "json",
  [`${protobuf},application/json`]: "protobuf",
  [`application/json;q=0.5,${protobuf};q=0.9`]: "protobuf",
  [`${table("v1")},application/json`]: "json Table",
  [table("v1")]: "json Table!",
  [`${table("v1beta1")},application/json`]: "json Table v1beta1",
  [`${table("v2")},application/json`]: "json",
  [`${table("v1", "vnd.kubernetes.protobuf")},${table("v1")}`]: "json Table!",
  [`${protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json`]: "protobuf PartialObjectMetadata",
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1": "json PartialObjectMetadataList!",
  [`${discovery},application/json`]: "json v2",
};
for (const [accept, expected] of Object.entries(cases)) {
  test(`negotiate() reads ${accept || "nothing"} as ${expected}`, () => {
    const { encoding, as, asVersion, plainToo, discovery: version } = negotiate(accept);

    const transformed = as && `${as}${plainToo ? "" : "!"}`;
    const beta = asVersion === "meta.k8s.io/v1beta1" && "v1beta1";
    assert.equal([encoding, transformed, beta, version].filter(Boolean).join(" "), expected);
  });
}

const refused: Readonly<Record<string, RegExp>> = {
  "text/html": /^406: Not Acceptable\n\nAvailable representations: application\/json, application\/yaml/,
  "application/json;as=Chair;g=meta.k8s.io;v=v1": /^only the following media types are accepted: application\/json/,
  [table("v2")]: /^only the following media types are accepted: application\/json/,
};
for (const [accept, message] of Object.entries(refused)) {
  test(`negotiate() refuses ${accept}`, () => {
    assert.throws(() => negotiate(accept), { code: 406, message });
  });
}
