import assert from "node:assert/strict";
import { test } from "node:test";
import { readRequest, requestFault } from "./certificate-request.ts";
import { createSigningRequest } from "./create-request.ts";
import { createKey, readRequestSubject } from "./x509.ts";

const subject = { commonName: "system:node:a", organizations: ["system:nodes"] };

test("createSigningRequest() asks for a subject and for addresses", () => {
  const pem = createSigningRequest(createKey(), { subject, hosts: ["10.0.0.1", "fd00::1", "a.example"] });

  assert.equal(requestFault(pem), undefined);
  assert.deepEqual(readRequestSubject(pem), subject);
  const { addresses, dnsNames } = readRequest(pem).names;
  assert.deepEqual([addresses.length, dnsNames.length], [2, 1]);
});

test("createSigningRequest() without hosts asks for no other names", () => {
  const pem = createSigningRequest(createKey(), { subject });

  assert.equal(requestFault(pem), undefined);
  assert.deepEqual(readRequest(pem).names.addresses, []);
});
