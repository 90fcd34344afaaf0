import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { decode, digitsOf, encode } from "../src/json.ts";
import { argumentsOf, blank, fieldsOf } from "../src/schema_form.ts";
import { quoted } from "../src/shell.ts";
import { duration, relative, upTo } from "../src/times.ts";

test("every digit of a number survives", () => {
  for (const text of ["1", "-0", "1.0", "0.1", "1e-7", "1E400", "9007199254740993", "-1180591620717411303424", "123456789.000000001"])
    assert.equal(encode(decode(`{"a":[${text}]}`)), `{"a":[${text}]}`);
  assert.equal(digitsOf(decode("9007199254740993")), "9007199254740993");
  assert.equal(typeof decode("9007199254740991"), "number");
});

test("a key that would be a prototype is a key", () => {
  const text = '{"__proto__":{"polluted":true},"constructor":1}';
  assert.equal(encode(decode(text)), text);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test("a shell sees one word, whatever is in it", () => {
  for (const word of ["", "it's", "$(id)", "`id`", '"$HOME"', "\\", "a\nb", "''", "!x", "é👩‍👩‍👧"])
    assert.equal(execFileSync("sh", ["-c", `printf %s ${quoted(word)}`], { encoding: "utf8" }), word);
});

test("times are told as a person tells them", () => {
  assert.deepEqual([0, 250, 1_500, 59_999, 60_000, 3_660_000, 90_000_000, 86_400_000].map(duration), ["0 ms", "250 ms", "1.5 s", "1 min", "1 min", "1 h 1 min", "1 d 1 h", "1 d"]);
  assert.deepEqual([0, 999, -5_000, 61_000, -7_200_000].map((away) => relative(away, 0)), ["now", "now", "5 s ago", "in 1 min", "2 h ago"]);
  assert.deepEqual([upTo(9_999, 10_000), upTo(10_000, 10_000)], ["9,999", "10,000+"]);
});

const SCHEMA = decode(`{
  "properties": {
    "name": {"type": "string"}, "count": {"type": "integer"}, "rate": {"type": "number", "default": 1},
    "kind": {"$ref": "#/$defs/Kind"}, "sure": {"type": "boolean"}, "more": {"anyOf": [{"type": "object"}, {"type": "null"}]}
  },
  "required": ["name", "count", "kind"],
  "$defs": {"Kind": {"enum": ["a", "b"]}}
}`) as Parameters<typeof fieldsOf>[0];

test("a form is made of a schema", () => {
  const fields = fieldsOf(SCHEMA);
  assert.deepEqual(fields.map(({ name, type, required }) => [name, type, required]), [
    ["name", "string", true], ["count", "integer", true], ["rate", "number", false], ["kind", "json", true], ["sure", "json", false], ["more", "json", false],
  ]);
  assert.deepEqual(Object.keys(argumentsOf(fields, blank(fields)).problems), ["count", "kind"]);
  const filled = argumentsOf(fields, { ...blank(fields), name: "", count: "9007199254740993", kind: '"a"', sure: "true", more: "{}" });
  assert.deepEqual(filled.problems, {});
  assert.equal(encode(filled.args), '{"name":"","count":9007199254740993,"kind":"a","sure":true,"more":{}}');
  for (const wrong of ["1.5", "x", "1e3"]) assert.ok("count" in argumentsOf(fields, { ...blank(fields), count: wrong }).problems);
});

test("what takes any arguments is given an object", () => {
  const fields = fieldsOf(null);
  assert.deepEqual(argumentsOf(fields, { arguments: '{"a": 1}' }), { args: { a: 1 }, problems: {} });
  for (const wrong of ["", "[]", "5", "null", "{"]) assert.ok("arguments" in argumentsOf(fields, { arguments: wrong }).problems);
});
