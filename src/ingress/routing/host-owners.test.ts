import assert from "node:assert/strict";
import { test } from "node:test";
import { HostOwners } from "./host-owners.ts";

function ownersOf(...claims: (readonly [string, string, ("one label" | "any labels")?])[]): HostOwners {
  const owners = new HostOwners();
  for (const [host, namespace, wildcard = "any labels"] of claims) owners.claim({ host, namespace }, wildcard);
  return owners;
}

test("a host belongs to the namespace that claimed it first", () => {
  const owners = ownersOf(["shop.example", "a"], ["shop.example", "b"]);
  assert.equal(owners.get("shop.example"), "a");
  assert.equal(owners.get("other.example"), undefined);
});

test("hosts below a wildcard cannot be taken by another namespace", () => {
  const owners = ownersOf(["*.example", "a"], ["shop.example", "b"], ["*.shop.example", "b"], ["x.y.example", "b"]);
  for (const host of ["shop.example", "*.shop.example", "x.y.example", "*.example"])
    assert.equal(owners.get(host), "a");
  assert.equal(owners.get("example"), undefined);
});

test("a host that was there before the wildcard stays with its namespace", () => {
  const owners = ownersOf(["shop.example", "b"], ["*.example", "a"]);
  assert.equal(owners.get("shop.example"), "b");
  assert.equal(owners.get("x.shop.example"), "a");
});

test("the wildcard of an Ingress has the hosts that it serves, which are one label longer", () => {
  const owners = ownersOf(["*.example", "a", "one label"], ["x.y.example", "b"]);
  assert.equal(owners.get("y.example"), "a");
  assert.equal(owners.get("x.y.example"), "b");
});

test("what has no host is everybody's", () => {
  assert.equal(ownersOf(["", "a"]).get(""), undefined);
});
