import { type CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { type Explanation } from "../explanation.ts";

type Condition = NonNullable<CertificateSigningRequest["status"]["conditions"]>[number];

/** What a request for a certificate waits for. */
export function explainCertificateRequest(request: CertificateSigningRequest): Explanation {
  const { spec, status } = request;
  const conditions = (status.conditions ?? []).filter((condition) => condition.status === "True");
  const evidence = [
    `asked by ${spec.username || "an unknown user"}, for ${(spec.usages ?? []).join(", ")}`,
    ...conditions.map(describe),
  ];
  return { hop: undefined, evidence, ...answer(request, new Map(conditions.map((each) => [each.type, each]))) };
}

const describe = ({ type, reason = "", message = "" }: Condition): string =>
  `${type}${reason ? ` (${reason})` : ""}${message ? `: ${message}` : ""}`;

type Answer = Pick<Explanation, "state" | "headline" | "advice">;

function answer({ metadata, spec, status }: CertificateSigningRequest, found: ReadonlyMap<string, Condition>): Answer {
  const { name } = metadata;
  const title = `CertificateSigningRequest ${name}`;
  if (status.certificate) {
    const advice = [`Read it with \`kubectl get csr ${name} -o jsonpath='{.status.certificate}' | base64 -d\`.`];
    return { state: "Issued", headline: `${title} has its certificate: nothing is stuck.`, advice };
  }
  const again = "A decision cannot be changed: create a new request.";
  const failed = found.get("Failed");
  if (failed) {
    const headline = `${title} gets no certificate: the signer ${spec.signerName} refuses it${because(failed)}.`;
    return { state: "Failed", headline, advice: [again] };
  }
  const denied = found.get("Denied");
  if (denied) return { state: "Denied", headline: `${title} was denied${because(denied)}.`, advice: [again] };
  if (!found.has("Approved")) {
    const advice = [
      `Approve or deny it: \`kubectl certificate approve ${name}\`, \`kubectl certificate deny ${name}\`.`,
    ];
    return { state: "Pending", headline: `${title} waits until somebody approves it.`, advice };
  }
  const headline = `${title} is approved and waits for the signer ${spec.signerName}.`;
  if (!spec.signerName.startsWith("kubernetes.io/")) {
    const advice = [`Orlop does not sign for it: check that the program which does is running.`];
    return { state: "Approved", headline, advice };
  }
  const advice = [
    "Ask again in a moment. If nothing changes, check that certificatesigningrequest-signing-controller is not turned off by --controllers.",
  ];
  return { state: "Approved", headline, advice };
}

const because = ({ message }: Condition): string => (message ? `: ${message}` : "");
