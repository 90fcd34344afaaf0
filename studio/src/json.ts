// JSON whose numbers survive: what a double cannot hold stays text. `1.0` stays `1.0`, and 2**60 stays 2**60.
import { LosslessNumber, isLosslessNumber, parse, stringify } from "lossless-json";

export type Json = null | boolean | number | string | LosslessNumber | Json[] | { [key: string]: Json };

export function decode(text: string): Json {
  return parse(text, undefined, (digits) => {
    const number = Number(digits);
    return String(number) === digits && (Number.isSafeInteger(number) || !Number.isInteger(number))
      ? number
      : new LosslessNumber(digits);
  }) as Json;
}

export function encode(value: unknown, indent?: number): string {
  return stringify(value, undefined, indent) ?? "null";
}

/** A number as it was written, or null for anything else. */
export function digitsOf(value: Json): string | null {
  if (typeof value === "number") return String(value);
  return isLosslessNumber(value) ? value.value : null;
}
