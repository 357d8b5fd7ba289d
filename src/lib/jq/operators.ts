import { isObject } from "../data/json-object.ts";
import { JqFault, type Json, type Meter, order, typeOf } from "./values.ts";

/** What a sign between two values makes of them. */
export function operate(sign: string, left: Json, right: Json, meter: Meter): Json {
  meter.read(left, right);
  switch (sign) {
    case "==":
      return order(left, right) === 0;
    case "!=":
      return order(left, right) !== 0;
    case "<":
      return order(left, right) < 0;
    case "<=":
      return order(left, right) <= 0;
    case ">":
      return order(left, right) > 0;
    case ">=":
      return order(left, right) >= 0;
    case "+":
      return sum(left, right, meter);
    default:
      return calculate(sign, left, right, meter);
  }
}

export function sum(left: Json, right: Json, meter: Meter): Json {
  if (left === null) return right;
  if (right === null) return left;
  if (typeof left === "number" && typeof right === "number") return left + right;
  if (typeof left === "string" && typeof right === "string") {
    meter.spend(left.length + right.length);
    return left + right;
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    meter.spend(left.length + right.length);
    return [...(left as readonly Json[]), ...(right as readonly Json[])];
  }
  if (isObject(left) && isObject(right)) {
    meter.spend(Object.keys(left).length + Object.keys(right).length);
    return { ...left, ...right } as Json;
  }
  throw new JqFault(`${typeOf(left)} and ${typeOf(right)} cannot be added`);
}

function calculate(sign: string, left: Json, right: Json, meter: Meter): Json {
  if (sign === "-" && Array.isArray(left) && Array.isArray(right)) {
    meter.compare(left.length * right.length);
    return left.filter((one: Json) => !right.some((other: Json) => order(one, other) === 0));
  }
  if (typeof left !== "number" || typeof right !== "number") {
    throw new JqFault(`${typeOf(left)} ${sign} ${typeOf(right)} has no meaning`);
  }
  if (sign === "-") return left - right;
  if (sign === "*") return left * right;
  if (right === 0) throw new JqFault("cannot divide by zero");
  return sign === "/" ? left / right : Math.trunc(left) % Math.trunc(right);
}
