import { ignore } from "#lib/net/sockets.ts";
import { type Call } from "./call.ts";
import { openExchange } from "./exchange.ts";
import { type ForwardDeps, type Forwarding, requestFor } from "./forward.ts";

/** A copy is cut after this time, because nobody waits for its answer. */
const mirrorMs = 10_000;
/** More copies at a time than this are not sent: they must not take from the requests themselves. */
const maxMirrored = 256;
let mirrored = 0;

/** Sends copies of a request without a body to other backends and ignores their answers. */
export function mirror(call: Call, way: Forwarding, deps: ForwardDeps): void {
  for (const { backend, part, of } of way.action.mirrors) {
    if (call.bodyLength !== undefined && call.bodyLength !== 0) continue;
    if (mirrored >= maxMirrored || deps.random() * of >= part) continue;
    mirrored++;
    copyTo(backend, { call, way }, deps)
      .catch(ignore)
      .finally(() => mirrored--);
  }
}

async function copyTo(
  key: string,
  { call, way }: { readonly call: Call; readonly way: Forwarding },
  { backends, clock }: ForwardDeps,
): Promise<void> {
  const backend = backends.get(key);
  const endpoint = backend?.choose(new Set());
  if (!backend || !endpoint) return;
  const request = { ...requestFor(call, way, { key, weight: 1 }), bodyLength: undefined, mayReuse: false };
  const isHttp2 = backend.isHttp2 || way.action.isGrpc;
  const exchange = await openExchange(endpoint, request, { clock, isHttp2 });
  const cancel = clock.after(mirrorMs, () => exchange.destroy());
  try {
    exchange.body.end();
    const answer = await exchange.answer;
    for await (const _ of answer.body);
  } finally {
    cancel();
    exchange.destroy();
  }
}
