import assert from "node:assert/strict";
import { test } from "node:test";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { explain } from "../explain.ts";

type Status = InputOf<CertificateSigningRequest["status"]>;
const ours = "kubernetes.io/kube-apiserver-client";

function why(status: Status, signerName = ours): string {
  const spec = { request: "", signerName, usages: ["client auth"], username: "ann" };
  const request = build(CertificateSigningRequest, { metadata: { name: "r" }, spec, status });
  const { state, headline, evidence, advice } = explain({ about: "certificate", request });
  return [state, headline, ...evidence, ...advice].join("\n");
}
const decided = (type: string, message = "") => ({ type, status: "True", reason: "Because", message });

const cases: readonly [name: string, answer: string, says: RegExp][] = [
  [
    "without a decision",
    why({}),
    /^Pending\n.* waits until somebody approves it\.\nasked by ann, for client auth\n.*approve r`/,
  ],
  ["that was denied", why({ conditions: [decided("Denied", "no")] }), /^Denied\n.* was denied: no\.\n/],
  [
    "that the signer refuses",
    why({ conditions: [decided("Approved"), decided("Failed", "invalid usage")] }),
    /^Failed\n.* the signer kubernetes\.io\/kube-apiserver-client refuses it: invalid usage\.\n.*\nApproved \(Because\)\nFailed/,
  ],
  ["that is about to be signed", why({ conditions: [decided("Approved")] }), /^Approved\n.*\n.*\n.*\nAsk again/],
  [
    "whose signer is somebody else's",
    why({ conditions: [decided("Approved")] }, "example.com/mine"),
    /^Approved\n.* waits for the signer example\.com\/mine\.\n.*\n.*\nOrlop does not sign for it/,
  ],
  [
    "with its certificate",
    why({ conditions: [decided("Approved")], certificate: "aGk=" }),
    /^Issued\n.*nothing is stuck\./,
  ],
];

for (const [name, answer, says] of cases) test(`explain() knows a request ${name}`, () => assert.match(answer, says));
