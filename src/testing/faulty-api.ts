import { allResources } from "#api/all.ts";
import { type Answer, type ApiRequest, type WatchSink } from "#api/exchange.ts";
import { internalError, StatusError } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { localClient } from "#client/transport/local.ts";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { type Clock } from "#lib/async/clock.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Trace } from "#trace/trace.ts";
import { Part, Widget } from "./widget.ts";

/** The real API server over a store in memory, without controllers, which fails when a test wants it to. */
export interface FaultyApi extends AsyncDisposable {
  /** Calls as an administrator. */
  readonly client: Client;
  readonly revision: number;
  /** Called before every request of the client; what it throws becomes the answer. */
  intercept: ((request: ApiRequest) => void | Promise<void>) | undefined;
  /** Answers without calling `intercept`. */
  handle(request: ApiRequest): Promise<Answer>;
  /** The trace that wrote a revision. */
  traceOf(revision: number): Trace | undefined;
  /** Ends all watches, as a restarted server does. */
  cutWatches(): void;
  /** Drops history, so that a watch that resumes from before gets 410. */
  compact(): Promise<void>;
}

/** Serves the built-in kinds and the two test kinds, Widget and Part. */
export async function openFaultyApi(clock: Clock): Promise<FaultyApi> {
  const store = openMemoryStore({ clock });
  const key = signingKey(keyToPem(createKey()));
  const random = seededRandom(1);
  const resources = [...allResources, Widget, Part];
  const options = { store, clock, log: silentLog, random, signingKey: key, serverAddress: "127.0.0.1:6443" };
  const assembled = await assembleApiServer({ ...options, resources, freezesShared: true });
  await bootstrapCluster(assembled.loopback);
  const watches = new Set<WatchSink>();
  const handle = async (request: ApiRequest): Promise<Answer> => {
    const answer = await assembled.server.handle(request);
    return answer.type === "watch" ? tracked(watches, answer) : answer;
  };
  const { traceOf } = assembled;
  const api: FaultyApi = {
    client: localClient((request) => answerOf(api, request), administrator, { traceOf }),
    get revision() {
      return store.revision;
    },
    intercept: undefined,
    handle,
    traceOf,
    cutWatches() {
      for (const sink of watches) sink.end();
      watches.clear();
    },
    compact: () => store.compact(store.revision),
    async [Symbol.asyncDispose]() {
      await assembled[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
  return api;
}

const administrator = { name: "admin", groups: ["system:masters", "system:authenticated"] };

async function answerOf(api: FaultyApi, request: ApiRequest): Promise<Answer> {
  try {
    await api.intercept?.(request);
  } catch (error) {
    const status = error instanceof StatusError ? error : internalError(error);
    return { type: "value", status: status.code, value: status };
  }
  return await api.handle(request);
}

function tracked(watches: Set<WatchSink>, answer: Extract<Answer, { type: "watch" }>): Answer {
  return {
    ...answer,
    start(sink) {
      watches.add(sink);
      const stop = answer.start(sink);
      return () => {
        watches.delete(sink);
        stop();
      };
    },
  };
}
