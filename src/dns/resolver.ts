import { type Log } from "#lib/process/log.ts";
import { type Forwarder } from "./forward.ts";
import {
  type DnsRecord,
  datagramBytes,
  headerBytes,
  messageBytes,
  type Query,
  type Question,
  rcodes,
  WireError,
} from "./message.ts";
import { answerQuestion, type ClusterView, type Reply, startOfAuthority, type Zone } from "./records.ts";
import { passOn, recordsOf } from "./upstream-answer.ts";
import { decodeQuery } from "./wire-reader.ts";
import { type AnswerParts, encodeAnswer } from "./wire-writer.ts";

export interface ResolverDeps {
  readonly view: ClusterView;
  readonly zone: Zone;
  /** For names outside the cluster; another one after a change of the configuration. */
  forwarder(): Forwarder;
  readonly log: Log;
}

export interface Means {
  readonly transport: "udp" | "tcp";
  /** false: a question for another server gets no answer now. */
  readonly mayWait: boolean;
}

/** Answers a message; undefined if it gets no answer. Never throws. The cluster's own names are answered synchronously. */
export type Resolver = (message: Buffer, means: Means) => Buffer | undefined | Promise<Buffer>;

const internetClass = 1;
const badVersion = 16;
const smallestDatagram = 512;

export function createResolver(deps: ResolverDeps): Resolver {
  let turn = 0;
  return (message, { transport, mayWait }) => {
    const query = readQuery(message);
    if (!query || query.isResponse) return undefined;
    const limit = limitOf(query, transport);
    const refusal = refusalOf(query);
    if (refusal !== undefined || !query.question) {
      return encodeAnswer(query, { rcode: refusal ?? rcodes.formatError, authoritative: false }, limit);
    }
    const fail = (error: unknown): Buffer => failed(deps.log, query, { error, limit });
    try {
      const answer = answerTo(deps, query, { question: query.question, limit, turn: turn++, mayWait });
      return answer instanceof Promise ? answer.catch(fail) : answer;
    } catch (error) {
      return fail(error);
    }
  };
}

interface Asked {
  readonly question: Question;
  readonly limit: number;
  readonly turn: number;
  readonly mayWait: boolean;
}

function answerTo(deps: ResolverDeps, query: Query, asked: Asked): Buffer | undefined | Promise<Buffer> {
  const { question, limit, turn, mayWait } = asked;
  const reply = answerQuestion(deps.view, deps.zone, question);
  if (!mayWait && (reply.kind === "foreign" || (reply.kind === "records" && reply.chase !== undefined)))
    return undefined;
  if (reply.kind === "foreign") return forward(deps, query, asked);
  if (reply.kind === "records" && reply.chase !== undefined) return chase(deps, query, { reply, limit });
  return encodeAnswer(query, partsOf(deps.zone, reply, turn), limit);
}

/** Records that cannot be encoded, such as an alias with a label of 64 characters, are a user's mistake and not a bug. */
function failed(log: Log, query: Query, { error, limit }: { error: unknown; limit: number }): Buffer {
  const name = query.question?.name;
  if (error instanceof WireError) log.debug("the DNS answer cannot be encoded", { name, reason: error.message });
  else log.error("could not answer a DNS question", { name, error });
  return encodeAnswer(query, failure, limit);
}

/** Undefined if the message is so broken that no error can be sent. */
function readQuery(message: Buffer): Query | undefined {
  try {
    return decodeQuery(message);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    if (message.length < headerBytes) return undefined;
    return {
      id: message.readUInt16BE(0),
      opcode: ((message[2] ?? 0) >> 3) & 0xf,
      isResponse: (message[2] ?? 0) >= 0x80,
      recursionDesired: ((message[2] ?? 0) & 1) === 1,
      checkingDisabled: false,
      question: undefined,
      edns: undefined,
    };
  }
}

function limitOf({ edns }: Query, transport: "udp" | "tcp"): number {
  if (transport === "tcp") return messageBytes;
  return Math.max(smallestDatagram, Math.min(edns?.sizeBytes ?? smallestDatagram, datagramBytes));
}

function refusalOf({ opcode, question, edns }: Query): number | undefined {
  if (opcode !== 0) return rcodes.notImplemented;
  if (!question) return rcodes.formatError;
  if (edns && edns.version > 0) return badVersion;
  return question.class === internetClass ? undefined : rcodes.refused;
}

function partsOf(zone: Zone, reply: Exclude<Reply, { kind: "foreign" }>, turn: number): AnswerParts {
  if (reply.kind === "records") {
    const { answers, additional } = reply;
    return { rcode: rcodes.noError, authoritative: true, answers: rotated(answers, turn), additional };
  }
  const rcode = reply.kind === "missing" ? rcodes.noSuchName : rcodes.noError;
  return { rcode, authoritative: true, authority: [startOfAuthority(zone)] };
}

/** Rotates the addresses, because most clients take the first. A chain of aliases keeps its order. */
function rotated(answers: readonly DnsRecord[], turn: number): readonly DnsRecord[] {
  if (answers.length < 2 || answers.some(({ data }) => data.type === "CNAME")) return answers;
  const start = turn % answers.length;
  return [...answers.slice(start), ...answers.slice(0, start)];
}

const failure: AnswerParts = { rcode: rcodes.serverFailure, authoritative: false };

async function forward(deps: ResolverDeps, query: Query, { question, limit }: Asked): Promise<Buffer> {
  const forwarder = deps.forwarder();
  if (forwarder.noticeProbe(question.name)) return encodeAnswer(query, failure, limit);
  const { checkingDisabled, edns } = query;
  const found = await forwarder.ask({ question, checkingDisabled, dnssec: edns?.dnssec ?? false });
  if (!found) return encodeAnswer(query, failure, limit);
  return passOn(query, found.answer, { limit, ageSeconds: found.ageSeconds });
}

/** Resolves an alias that points outside the cluster, so that the client gets both in one answer. */
async function chase(
  deps: ResolverDeps,
  query: Query,
  { reply, limit }: { reply: Extract<Reply, { kind: "records" }>; limit: number },
): Promise<Buffer> {
  const { question, checkingDisabled } = query;
  const name = reply.chase ?? "";
  const found =
    question && (await deps.forwarder().ask({ question: { ...question, name }, checkingDisabled, dnssec: false }));
  const rcode = found ? found.answer.rcode : rcodes.noError;
  const answers = [...reply.answers, ...(found ? recordsOf(found.answer) : [])];
  return encodeAnswer(query, { rcode, authoritative: true, answers }, limit);
}
