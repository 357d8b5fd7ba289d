import { Secret } from "#api/core/secret.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informers } from "#runtime/informer.ts";
import { openPair, type ServedCertificate } from "./serve/certificates.ts";

/** No other secrets are read. */
export const tlsSecrets = { fieldSelector: "type=kubernetes.io/tls" } as const;

type OpenedSecret = Pick<ServedCertificate, "context"> | { readonly fault: string };
const opened = new WeakMap<Secret, OpenedSecret>();

/** Remembered for as long as the informer has the object: reading a key takes a millisecond. */
export function openSecret(informers: Informers, key: string): OpenedSecret {
  const [namespace = "", name = ""] = key.split("/");
  const secret = informers.of(Secret, tlsSecrets).get({ namespace, name });
  if (!secret) return { fault: `secret ${name} does not exist or does not have the type kubernetes.io/tls` };
  const known = opened.get(secret);
  if (known) return known;
  const result = readPair(secret);
  opened.set(secret, result);
  return result;
}

function readPair({ metadata, data = {} }: Secret): OpenedSecret {
  const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
  try {
    return { context: openPair({ certificate: text("tls.crt"), key: text("tls.key") }) };
  } catch (error) {
    return { fault: `secret ${metadata.name}: ${messageOf(error)}` };
  }
}
