// Adds entries to lists of JSON with comments, with the parser that editors use. Nothing that is there is touched:
// comments, order, line breaks and hand-made layout stay.
// stdin: {"text", "edits": [{"path", "value"}], "from": a file of the project}; stdout: the new text.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { text, edits, from } = JSON.parse(readFileSync(0, "utf8"));
const { findNodeAtLocation, parseTree } = createRequire(from)("jsonc-parser");

function oneLine(value) {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${oneLine(item)}`);
  return `{ ${fields.join(", ")} }`;
}

// Adds an item to a list, or a property to an object, behind its last child and laid out as that is.
function add(source, node, item) {
  const last = node.children.at(-1);
  if (last === undefined) {
    const [open, close] = node.type === "array" ? "[]" : "{}";
    return source.slice(0, node.offset) + `${open} ${item} ${close}` + source.slice(node.offset + node.length);
  }
  const [, lineBreak] = source.slice(0, last.offset).match(/(\r?\n[ \t]*)$/) ?? [null, " "];
  const end = last.offset + last.length;
  return source.slice(0, end) + "," + lineBreak + item + source.slice(end);
}

function append(source, path, value) {
  const tree = parseTree(source);
  const list = findNodeAtLocation(tree, path);
  if (list !== undefined) return add(source, list, oneLine(value));
  let depth = path.length - 1;
  while (findNodeAtLocation(tree, path.slice(0, depth)) === undefined) depth -= 1;
  const missing = path.slice(depth + 1).reduceRight((inner, key) => ({ [key]: inner }), [value]);
  const property = `${JSON.stringify(path[depth])}: ${oneLine(missing)}`;
  return add(source, findNodeAtLocation(tree, path.slice(0, depth)), property);
}

process.stdout.write(edits.reduce((source, { path, value }) => append(source, path, value), text));
