// A form out of a JSON Schema: simple types get fields of their own, everything else is written as JSON.
import { decode, type Json } from "./json.ts";

export interface Field {
  name: string;
  type: "string" | "number" | "integer" | "json";
  required: boolean;
  hint: string;
  choices: Json[] | null;
  initial: string;
}

export type Draft = { [name: string]: string };

type Schema = { [key: string]: Json };
const isSchema = (value: Json | undefined): value is Schema =>
  value !== null && value !== undefined && typeof value === "object" && !Array.isArray(value);

export function fieldsOf(schema: Schema | null): Field[] {
  if (schema === null) return [ANY];
  const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(properties).map(([name, given]) => field(name, isSchema(given) ? given : {}, required.includes(name), schema));
}

function field(name: string, given: Schema, required: boolean, root: Schema): Field {
  const own = resolved(given, root);
  const choices = Array.isArray(own["enum"]) ? own["enum"] : own["type"] === "boolean" ? [true, false] : null;
  const type = own["type"] === "string" || own["type"] === "number" || own["type"] === "integer" ? own["type"] : "json";
  const words = [
    typeof own["description"] === "string" ? own["description"] : "",
    choices ? "" : type === "json" ? "as JSON" : type === "string" ? (typeof own["format"] === "string" ? own["format"] : "text") : type === "integer" ? "a whole number of any size" : "a number",
  ];
  return { name, type, required, choices, hint: words.filter(Boolean).join("; "), initial: "" };
}

/** The one field of something that takes any arguments: all of them, as JSON. */
const ANY: Field = { name: "arguments", type: "json", required: false, hint: "a JSON object", choices: null, initial: "{}" };

/** What a reference points at. */
function resolved(schema: Schema, root: Schema): Schema {
  const reference = schema["$ref"];
  if (typeof reference !== "string" || !reference.startsWith("#/")) return schema;
  let at: Json | undefined = root;
  for (const step of reference.slice(2).split("/")) at = isSchema(at) ? at[step] : undefined;
  return isSchema(at) ? at : schema;
}

/** What is wrong with arguments as they are typed, or null. */
export function problemOf(text: string): string | null {
  try {
    return isSchema(decode(text)) ? null : "Arguments are an object: { … }";
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export function blank(fields: Field[]): Draft {
  return Object.fromEntries(fields.map((each) => [each.name, each.initial]));
}

/** The arguments that a draft says, and for each field that is wrong why. An optional field that is empty is left out. */
export function argumentsOf(fields: Field[], draft: Draft): { args: { [name: string]: Json }; problems: { [name: string]: string } } {
  const args: { [name: string]: Json } = {};
  const problems: { [name: string]: string } = {};
  if (fields.length === 1 && fields[0] === ANY) {
    const text = draft[ANY.name] ?? "";
    const problem = problemOf(text);
    return problem === null ? { args: decode(text) as { [name: string]: Json }, problems } : { args, problems: { [ANY.name]: problem } };
  }
  for (const { name, type, required, choices } of fields) {
    const text = draft[name] ?? "";
    if (text === "" && !(type === "string" && required && choices === null)) {
      if (required) problems[name] = "it is needed";
      continue;
    }
    if (type === "string" && choices === null) {
      args[name] = text;
      continue;
    }
    if (type === "integer" && choices === null && !/^-?[0-9]+$/.test(text.trim())) problems[name] = "it must be a whole number";
    else
      try {
        args[name] = decode(text.trim());
      } catch (error) {
        problems[name] = `this is not JSON: ${error instanceof Error ? error.message : String(error)}`;
      }
  }
  return { args, problems };
}
