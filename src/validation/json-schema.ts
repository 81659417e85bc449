import type { Check } from './check.js';

/** A JSON Schema of draft 2020-12, as OpenAPI 3.1 uses it. Its keywords mean the same in draft 7, which AsyncAPI 3 uses. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Writes a schema; classes become named definitions, so that a schema may contain itself. */
export type DescribeSchema = (definitions: Definitions) => JsonSchema;

/** Beside the checks, not on them: a validation never sees it. */
const descriptions = new WeakMap<Check, DescribeSchema>();

/** A check with the JSON Schema of the values that it accepts. The schema is written when a document needs it. */
export function described(check: Check, describe: DescribeSchema | JsonSchema): Check {
  descriptions.set(check, typeof describe === 'function' ? describe : () => describe);
  return check;
}

/** The schema of the values that a check accepts. Throws an Error for a check without one. */
export function schemaOf(check: Check, definitions: Definitions): JsonSchema {
  const describe = descriptions.get(check);
  if (describe === undefined) throw new Error('This check has no JSON Schema: build it with described().');
  return describe(definitions);
}

/** The named schemas of a document. */
export class Definitions {
  private readonly owners = new Map<string, unknown>();
  private readonly schemas = new Map<string, JsonSchema>();

  /** @param path where the document has its definitions, such as `#/components/schemas/` */
  constructor(private readonly path: string) {}

  /** A reference to the definition of `owner`, which is written with the first one. Throws an Error for a name of two owners. */
  refer(name: string, owner: unknown, describe: DescribeSchema): JsonSchema {
    if (!this.owners.has(name)) {
      this.owners.set(name, owner);
      this.schemas.set(name, describe(this));
    } else if (this.owners.get(name) !== owner) {
      throw new Error(`Two schemas have the name '${name}'.`);
    }
    return { $ref: `${this.path}${name}` };
  }

  /** All definitions by name, in alphabetical order. */
  all(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.schemas].sort(([one], [other]) => (one < other ? -1 : 1)));
  }
}

/** The values that all schemas accept: their keywords in one schema where no two have the same, else `allOf`. */
export function allOf(schemas: readonly JsonSchema[]): JsonSchema {
  const merged: JsonSchema[] = [];
  for (const schema of schemas) {
    if (Object.keys(schema).length === 0) continue;
    const index = merged.findIndex((other) => agree(other, schema));
    if (index === -1) merged.push(schema);
    else merged[index] = { ...merged[index], ...schema };
  }
  const [only, ...others] = merged;
  if (only === undefined) return {};
  return others.length === 0 ? only : { allOf: merged };
}

/** Whether no keyword has two values. References stay alone, because generators of code read them best so. */
function agree(one: JsonSchema, other: JsonSchema): boolean {
  if ('$ref' in one || '$ref' in other) return false;
  return Object.entries(other).every(([keyword, value]) => !(keyword in one) || one[keyword] === value);
}

/** What a schema accepts, and null. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: values } = schema;
  if (Object.keys(schema).length === 0) return schema;
  if (typeof type !== 'string' || 'const' in schema || 'allOf' in schema) {
    const alternatives = Object.keys(schema).length === 1 ? schema.anyOf : undefined;
    return { anyOf: [...(Array.isArray(alternatives) ? (alternatives as JsonSchema[]) : [schema]), { type: 'null' }] };
  }
  return {
    ...schema,
    type: [type, 'null'],
    ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}),
  };
}
