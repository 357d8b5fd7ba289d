import { type Cursor } from "#api/cursor.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { inclusiveRange } from "#api/meta/names.ts";
import { type ClusterObject, defineResource } from "#api/resource.ts";
import { equal } from "#lib/data/equal.ts";
import { defaulted, embedded, nullable, present, unstated, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, string } from "#schema/types.ts";
import { keepMetadata, statusOf, statusResets, validateStatus } from "./flow-status.ts";

const object = inPackage("flowcontrol/v1");

const queuingDefaults = { queues: 64, handSize: 8, queueLengthLimit: 50 };
const queuingDoc = "How the requests of a PriorityLevelConfiguration wait.";
const QueuingConfiguration = object.filledBy(setQueuing, "QueuingConfiguration", queuingDoc, {
  queues: written(defaulted(1, int32(), queuingDefaults.queues, "Number of queues of the priority level.")),
  handSize: written(
    defaulted(2, int32(), queuingDefaults.handSize, "Number of queues of each flow; a request takes the shortest."),
  ),
  queueLengthLimit: written(
    defaulted(3, int32(), queuingDefaults.queueLengthLimit, "Number of requests that may wait in one queue."),
  ),
});
interface QueuingConfiguration extends Infer<typeof QueuingConfiguration> {}

/** In Go, no number and 0 are the same. */
function setQueuing(queuing: typeof queuingDefaults): void {
  queuing.queues ||= queuingDefaults.queues;
  queuing.handSize ||= queuingDefaults.handSize;
  queuing.queueLengthLimit ||= queuingDefaults.queueLengthLimit;
}

const responseOptions = {
  doc: "What happens to requests that cannot be served at once.",
  union: { discriminator: "type", fields: ["queuing"] },
};
const LimitResponse = object("LimitResponse", responseOptions, {
  type: present(1, string(), "Queue: they wait. Reject: they are refused with the status 429."),
  queuing: nullable(2, QueuingConfiguration, "How requests wait, for the type Queue."),
});
interface LimitResponse extends Infer<typeof LimitResponse> {}

const limitedDoc = "How many requests of a priority level are served at once.";
const LimitedPriorityLevelConfiguration = object("LimitedPriorityLevelConfiguration", limitedDoc, {
  nominalConcurrencyShares: unstated(
    written(
      defaulted(1, int32(), 30, "Share of the server's concurrent requests, in relation to the other priority levels."),
    ),
  ),
  limitResponse: embedded(2, LimitResponse, "What happens to requests that cannot be served at once."),
  lendablePercent: defaulted(3, int32(), 0, "Percentage of its share that other priority levels may borrow."),
  borrowingLimitPercent: nullable(4, int32(), "Percentage of its share that it may borrow; unlimited if absent."),
});
interface LimitedPriorityLevelConfiguration extends Infer<typeof LimitedPriorityLevelConfiguration> {}

const exemptDoc = "What a priority level without limits leaves to the others.";
const ExemptPriorityLevelConfiguration = object("ExemptPriorityLevelConfiguration", exemptDoc, {
  nominalConcurrencyShares: defaulted(
    1,
    int32(),
    0,
    "Share of the server's concurrent requests that is set aside for it.",
  ),
  lendablePercent: defaulted(2, int32(), 0, "Percentage of its share that other priority levels may borrow."),
});
interface ExemptPriorityLevelConfiguration extends Infer<typeof ExemptPriorityLevelConfiguration> {}

const specDoc = "How the requests of a priority level are limited.";
const specOptions = { doc: specDoc, union: { discriminator: "type", fields: ["exempt", "limited"] } };
const PriorityLevelConfigurationSpec = object("PriorityLevelConfigurationSpec", specOptions, {
  type: present(1, string(), "Whether requests are limited: Limited, or Exempt for the level of that name."),
  limited: nullable(2, LimitedPriorityLevelConfiguration, "Limits of the priority level, for the type Limited."),
  exempt: nullable(
    3,
    ExemptPriorityLevelConfiguration,
    "What is set aside for the priority level, for the type Exempt.",
  ),
});
interface PriorityLevelConfigurationSpec extends Infer<typeof PriorityLevelConfigurationSpec> {}

const fields = {
  spec: embedded(2, PriorityLevelConfigurationSpec),
  status: embedded(3, statusOf("PriorityLevelConfiguration", "none is in use")),
};
export interface PriorityLevelConfiguration extends ClusterObject<typeof fields> {}

type Value = { readonly spec: PriorityLevelConfigurationSpec };
const queuingOf = ({ spec }: Value): QueuingConfiguration | undefined => spec.limited?.limitResponse.queuing;
const orNone = (value: number | undefined): number | string => value ?? "<none>";

/** An older version of the API has it, and no object of this one. */
const zeroSharesAnnotation = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

const name = "flowcontrol.apiserver.k8s.io/v1.PriorityLevelConfiguration";
export const PriorityLevelConfiguration = defineResource(name, fields, {
  doc: "How many requests to the API server of one priority are served at once, and how others wait.",
  scope: "Cluster",
  hasGeneration: true,
  withStatus: () => ({}),
  statusResets,
  columns: [
    column("Type", "Whether requests are limited.", ({ spec }) => spec.type),
    column("NominalConcurrencyShares", "Share of the concurrent requests.", ({ spec }) =>
      orNone(spec.limited?.nominalConcurrencyShares),
    ),
    column("Queues", "Number of queues.", (level) => orNone(queuingOf(level)?.queues)),
    column("HandSize", "Number of queues for each flow.", (level) => orNone(queuingOf(level)?.handSize)),
    column("QueueLengthLimit", "Requests in one queue.", (level) => orNone(queuingOf(level)?.queueLengthLimit)),
    ageColumn,
  ],

  prepareForStatusUpdate: keepMetadata,
  validate(level) {
    const { name = "", annotations = {} } = level.value.metadata;
    if (Object.hasOwn(annotations, zeroSharesAnnotation)) {
      level.under("metadata", "annotations").forbidden(`annotation '${zeroSharesAnnotation}' is forbidden`);
    }
    validateSpec(level.field("spec"), name);
    validateMandatory(level.field("spec"), name);
  },
  validateStatusUpdate: validateStatus,
});

function validateSpec(at: Cursor<PriorityLevelConfigurationSpec>, name: string): void {
  const { type, limited, exempt } = at.value;
  const isExempt = type === "Exempt";
  if (isExempt !== (name === "exempt")) at.field("type").invalid("must be 'Exempt' if and only if `name` is 'exempt'");
  if (isExempt) {
    if (limited) at.field("limited").forbidden("must be nil if the type is not Limited");
    at.on("exempt", validateExempt);
  } else if (type === "Limited") {
    if (exempt) at.field("exempt").forbidden("must be nil if the type is Limited");
    if (limited) at.on("limited", validateLimited);
    else at.field("limited").missing("must not be empty when type is Limited");
  } else if (at.field("type").required()) at.field("type").unsupported(["Exempt", "Limited"]);
}

function validateExempt(at: Cursor<ExemptPriorityLevelConfiguration>): void {
  validateShares(at);
  validateLendable(at);
}

function validateLimited(at: Cursor<LimitedPriorityLevelConfiguration>): void {
  validateShares(at);
  validateResponse(at.field("limitResponse"));
  validateLendable(at);
  const borrowing = at.set("borrowingLimitPercent");
  if (borrowing && borrowing.value < 0) borrowing.invalid("if specified, must be a non-negative integer");
}

function validateShares(at: Cursor<{ nominalConcurrencyShares: number }>): void {
  const shares = at.field("nominalConcurrencyShares");
  if (shares.value < 0) shares.invalid("must be a non-negative integer");
}

function validateLendable(at: Cursor<{ lendablePercent: number }>): void {
  const percent = at.field("lendablePercent");
  if (percent.value < 0 || percent.value > 100) percent.invalid(inclusiveRange(0, 100));
}

function validateResponse(at: Cursor<LimitResponse>): void {
  const { type, queuing } = at.value;
  if (type === "Reject") {
    if (queuing) at.field("queuing").forbidden("must be nil if limited.limitResponse.type is not Limited");
  } else if (type === "Queue") {
    if (queuing) at.on("queuing", validateQueuing);
    else at.field("queuing").missing("must not be empty if limited.limitResponse.type is Limited");
  } else if (at.field("type").required()) at.field("type").unsupported(["Queue", "Reject"]);
}

const maxQueues = 10_000_000;
/** A flow's queues are dealt by a hash, which has so many bits to choose with. */
const maxHashBits = 60;

function validateQueuing(at: Cursor<QueuingConfiguration>): void {
  const { queues, handSize, queueLengthLimit } = at.value;
  if (queueLengthLimit <= 0) at.field("queueLengthLimit").invalid("must be positive");
  if (queues <= 0) at.field("queues").invalid("must be positive");
  else if (queues > maxQueues) at.field("queues").invalid(`must not be greater than ${maxQueues}`);
  const hand = at.field("handSize");
  if (handSize <= 0) hand.invalid("must be positive");
  else if (handSize > queues) hand.invalid(`should not be greater than queues (${queues})`);
  else if (Math.ceil(Math.log2(queues) * handSize) > maxHashBits) {
    hand.invalid(
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`,
    );
  }
}

/** The two priority levels without which a server does not work. */
function validateMandatory(at: Cursor<PriorityLevelConfigurationSpec>, name: string): void {
  const { exempt: _, ...others } = at.value;
  if (name === "exempt" && !equal(others, { type: "Exempt" })) {
    at.invalid(`spec of '${name}' except the 'spec.exempt' field must equal the fixed value`);
  }
  if (name === "catch-all" && !equal(at.value, catchAll)) at.invalid(`spec of '${name}' must equal the fixed value`);
}
const catchAll: PriorityLevelConfigurationSpec = {
  type: "Limited",
  limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: "Reject" } },
};

/** The priority levels that always exist, as they are created. */
export const mandatoryLevelSpecs: Readonly<Record<string, PriorityLevelConfigurationSpec>> = {
  exempt: { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  "catch-all": catchAll,
};
