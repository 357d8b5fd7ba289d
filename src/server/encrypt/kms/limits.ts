import { dns1123Subdomain } from "#api/meta/names.ts";
import { dekSource, type EncryptedObject } from "./messages.ts";

const maxKeyIdBytes = 1024;
const maxSourceBytes = 1024;
const maxAnnotationBytes = 32 * 1024;

/** The service is trusted with the key, but not with the size of every value. The messages are upstream's. */
export function checkKeyId(keyId: string): void {
  if (keyId === "") throw new Error("keyID is empty");
  const bytes = Buffer.byteLength(keyId);
  if (bytes > maxKeyIdBytes) throw new Error(`keyID is ${bytes} bytes, which exceeds the max size of ${maxKeyIdBytes}`);
}

/** What stands beside the encrypted data in a value. */
export function checkEncrypted(stored: Omit<EncryptedObject, "encryptedData">): void {
  const { encryptedDekSource: source, keyId, annotations, encryptedDekSourceType: type } = stored;
  if (type !== dekSource.key && type !== dekSource.seed) throw new Error(`unknown encryptedDEKSourceType: ${type}`);
  if (source.length === 0) throw new Error("encrypted DEK source is empty");
  if (source.length > maxSourceBytes) {
    throw new Error(`encrypted DEK source is ${source.length} bytes, which exceeds the max size of ${maxSourceBytes}`);
  }
  checkKeyId(keyId);
  let size = 0;
  for (const { key, value } of annotations) {
    if (dns1123Subdomain(key) || !key.includes(".")) {
      throw new Error(`annotations: ${JSON.stringify(key.slice(0, 100))} is not a fully qualified domain name`);
    }
    size += Buffer.byteLength(key) + value.length;
  }
  if (size > maxAnnotationBytes) {
    throw new Error(`total size of annotations is ${size}, which exceeds the max size of ${maxAnnotationBytes}`);
  }
}
