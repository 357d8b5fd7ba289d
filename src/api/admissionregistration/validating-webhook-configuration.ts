import { optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { listByKey } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { webhookConfiguration, webhookFields } from "./webhook.ts";

const ValidatingWebhook = inPackage("admissionregistration/v1")(
  "ValidatingWebhook",
  "A webhook that can refuse requests, and which requests it gets.",
  webhookFields(10, 11),
);

const fields = { webhooks: optional(2, listByKey("name", ValidatingWebhook), "Webhooks of the configuration.") };
export interface ValidatingWebhookConfiguration extends ClusterObject<typeof fields> {}

export const ValidatingWebhookConfiguration = defineResource(
  "admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration",
  fields,
  { ...webhookConfiguration, doc: "Webhooks that can refuse requests." },
);
