import { optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, list, map, string } from "#schema/types.ts";

const object = inPackage("authentication/v1");

export const UserInfo = object("UserInfo", "Who somebody is.", {
  username: optional(1, string(), "The name that tells the user from all others."),
  uid: optional(2, string(), "Tells users apart who had the same name at different times."),
  groups: optional(3, atomicList(string()), "The groups that the user is in."),
  extra: optional(4, map(list(string())), "What else the authenticator knew."),
});
export interface UserInfo extends Infer<typeof UserInfo> {}
