import { rpc } from "#lib/proto/grpc/client.ts";
import { type Decoded, field, message, repeated } from "#lib/proto/grpc/message.ts";

/** The messages of upstream's key service, version 2, and of the values that it helps to encrypt. */
const Annotation = message({ key: field(1, "string"), value: field(2, "bytes") });
export type Annotation = Decoded<typeof Annotation>;

export const EncryptedObject = message({
  encryptedData: field(1, "bytes"),
  keyId: field(2, "string"),
  encryptedDekSource: field(3, "bytes"),
  annotations: repeated(4, Annotation),
  encryptedDekSourceType: field(5, "int32"),
});
export type EncryptedObject = Decoded<typeof EncryptedObject>;

/** The data key itself, or a seed from which the key of each value is derived. */
export const dekSource = { key: 0, seed: 1 } as const;

export const StatusRequest = message({});
export const StatusResponse = message({
  version: field(1, "string"),
  healthz: field(2, "string"),
  keyId: field(3, "string"),
});
export const DecryptRequest = message({
  ciphertext: field(1, "bytes"),
  uid: field(2, "string"),
  keyId: field(3, "string"),
  annotations: repeated(4, Annotation),
});
export const DecryptResponse = message({ plaintext: field(1, "bytes") });
export const EncryptRequest = message({ plaintext: field(1, "bytes"), uid: field(2, "string") });
export const EncryptResponse = message({
  ciphertext: field(1, "bytes"),
  keyId: field(2, "string"),
  annotations: repeated(3, Annotation),
});

const service = "/v2.KeyManagementService";
export const status = rpc(`${service}/Status`, StatusRequest, StatusResponse);
export const decrypt = rpc(`${service}/Decrypt`, DecryptRequest, DecryptResponse);
export const encrypt = rpc(`${service}/Encrypt`, EncryptRequest, EncryptResponse);
