import assert from "node:assert/strict";
import { test } from "node:test";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { type ApiObject } from "#api/resource.ts";
import { der } from "#lib/crypto/der.ts";
import { pemOf } from "#lib/crypto/x509.ts";
import { type Authorizer, noOpinion } from "#server/authorize/authorizer.ts";
import { requestFor, setUp } from "./admission.suite.ts";
import { certificateApproval, certificateSigning } from "./certificates.ts";
import { type AdmissionRequest } from "./plugin.ts";

/** Allows what is listed as `verb group/resource name`. */
const allowing = (...rights: string[]): { authorizers: Authorizer[] } => ({
  authorizers: [
    {
      name: "test",
      authorize: (_user, { verb, group, resource, name }) =>
        rights.includes(`${verb} ${group}/${resource} ${name}`) ? { verdict: "allow", reason: "" } : noOpinion,
    },
  ],
});

const spec = { request: "", signerName: "example.com/web", usages: ["client auth"] };
const approved = { conditions: [{ type: "Approved", status: "True" }] };
const updateOf = (subresource: string, status: object = approved): AdmissionRequest =>
  requestFor(
    CertificateSigningRequest,
    { metadata: { name: "a" }, spec: { ...spec, signerName: "other.io/a" }, status },
    {
      operation: "UPDATE",
      subresource,
      oldObject: { metadata: { name: "a" }, spec, status: {} } as ApiObject,
    },
  );
const refusedTo = (verb: string) =>
  new RegExp(
    `certificatesigningrequests.certificates.k8s.io "a" is forbidden: user not permitted to ${verb} requests with signerName "example.com/web"`,
  );

const plugins = [
  { plugin: certificateApproval, verb: "approve", subresource: "approval" },
  { plugin: certificateSigning, verb: "sign", subresource: "status" },
];
for (const { plugin, verb, subresource } of plugins) {
  const { name } = plugin(allowing());
  const check = async (request: AdmissionRequest, ...rights: string[]) =>
    plugin(allowing(...rights)).validate?.(request);

  test(`${name} asks whether the user may ${verb} for the signer of the stored request`, async () => {
    await check(updateOf(subresource), `${verb} certificates.k8s.io/signers example.com/web`);
    await check(updateOf(subresource), `${verb} certificates.k8s.io/signers example.com/*`);
    await assert.rejects(check(updateOf(subresource)), refusedTo(verb));
    const wrong = `${verb} certificates.k8s.io/signers other.io/a`;
    await assert.rejects(check(updateOf(subresource), wrong), refusedTo(verb));
  });

  test(`${name} looks at updates of ${subresource} only`, () => {
    const { appliesTo } = plugin(allowing());

    assert(appliesTo(updateOf(subresource)));
    for (const other of ["", "status", "approval"]) {
      if (other !== subresource) assert(!appliesTo(updateOf(other)));
    }
    assert(!appliesTo({ ...updateOf(subresource), operation: "DELETE" }));
  });
}

test("CertificateSigning lets anybody write a status that is as before", async () => {
  await certificateSigning(allowing()).validate?.(updateOf("status", {}));
});

/** As much of a request as says who it is for. */
function requestOf(organization: string | Buffer): string {
  const text = typeof organization === "string" ? der.utf8(organization) : organization;
  const attribute = der.set(der.sequence(der.objectId("2.5.4.10"), text));
  const info = der.sequence(der.integer(Buffer.from([0])), der.sequence(attribute));
  return Buffer.from(pemOf("CERTIFICATE REQUEST", der.sequence(info))).toString("base64");
}
const creationOf = (request: string, signerName = "kubernetes.io/kube-apiserver-client") =>
  requestFor(CertificateSigningRequest, { metadata: { name: "a" }, spec: { ...spec, request, signerName } });

test("CertificateSubjectRestriction refuses clients that would be administrators", async () => {
  const { admit } = setUp();

  await admit(creationOf(requestOf("dev")));
  await admit(creationOf(requestOf("system:masters"), "example.com/web"));
  await assert.rejects(
    admit(creationOf(requestOf("system:masters"))),
    /use of kubernetes.io\/kube-apiserver-client signer with system:masters group is not allowed/,
  );
  await assert.rejects(admit(creationOf("AAAA")), /failed to parse CSR: not a certificate signing request/);
});

test("CertificateSubjectRestriction reads a group in two bytes for each character, as Go does", async () => {
  const { admit } = setUp();
  const content = Buffer.from("system:masters", "utf16le").swap16();
  const bmpString = Buffer.from([0x1e, content.length, ...content]);

  await assert.rejects(admit(creationOf(requestOf(bmpString))), /with system:masters group is not allowed/);
});
