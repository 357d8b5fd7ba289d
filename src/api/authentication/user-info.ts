import { optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, list, map, string } from "#schema/types.ts";

const object = inPackage("authentication/v1");

export const UserInfo = object("UserInfo", "The identity of a user.", {
  username: optional(1, string(), "Name that identifies the user among all active users."),
  uid: optional(2, string(), "Identifier of the user. A later user of the same name has another one."),
  groups: optional(3, atomicList(string()), "Groups that the user is a member of."),
  extra: optional(4, map(list(string())), "Further facts about the user from the authenticator."),
});
export interface UserInfo extends Infer<typeof UserInfo> {}
