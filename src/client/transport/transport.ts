import { type Credentials } from "#client/kubeconfig/credentials.ts";
import { type Clock } from "#lib/async/clock.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { type ClientConfig } from "../client-config.ts";
import { dial, tlsOptions } from "./dial.ts";
import { plainTransport, secureTransport } from "./http1.ts";
import { Http2Sessions, sendHttp2 } from "./http2.ts";
import { type Transport } from "./wire.ts";

/** HTTP/2 if the server supports it, otherwise HTTP/1.1; decided when the first connection is made. */
export function createTransport(config: ClientConfig, credentials: Credentials, clock: Clock): Transport {
  const url = new URL(config.server);
  const secure = url.protocol === "https:";
  const sessions = new Http2Sessions(url.origin, () => dial(url, config, { credentials, clock }), clock);
  let http1: Transport | undefined;
  if (!secure && !config.http2PriorKnowledge) http1 = plainTransport(url);
  return {
    async send(request) {
      if (request.signal.aborted) throw request.signal.reason;
      if (http1) return await http1.send(request);
      const slot = await orAborted(sessions.acquire(), request.signal);
      if (slot) return await sendHttp2(slot, request);
      http1 ??= secureTransport(await tlsOptions(url, config, credentials));
      return await http1.send(request);
    },
    close() {
      sessions.close();
      http1?.close();
    },
  };
}
