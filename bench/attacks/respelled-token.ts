import { type ClientHttp2Session, connect } from "node:http2";
import type { Attack } from "./attack.ts";

/** A valid token with junk that a lenient decoder ignores: each spelling would be a new entry in a cache. */
export const attack: Attack = {
  name: "tokens with junk after the signature",
  claim: "401: a token has one spelling",
  needs: "server",

  async run({ url, ca, token }, signal) {
    const session = connect(url, { ca });
    let refused = 0;
    try {
      if ((await statusOf(session, token)) === 401) throw new Error("the token itself is not accepted");
      while (!signal.aborted) {
        const junk = `~${refused}`;
        const at = token.length - 10;
        for (const respelled of [`${token}${junk}`, `${token}==`, `${token.slice(0, at)}${junk}${token.slice(at)}`]) {
          const status = await statusOf(session, respelled);
          if (status !== 401) throw new Error(`a token with junk was answered with ${status}`);
          refused++;
        }
      }
    } finally {
      session.close();
    }
    return `${refused} refused with 401`;
  },
};

const statusOf = (session: ClientHttp2Session, token: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/version", authorization: `Bearer ${token}` });
    let status = 0;
    stream.once("response", (headers) => {
      status = Number(headers[":status"]);
    });
    stream.once("error", reject);
    stream.resume().once("end", () => resolve(status));
  });
