import { type Check, clip, described, isObject, Violation } from '../../validation/index.js';

/** Keywords of JSON Schema outside the subset of Structured Outputs. Other unknown keywords are annotations. */
const NOT_PERMITTED: ReadonlySet<string> = new Set([
  ...['allOf', 'oneOf', 'not', 'if', 'then', 'else', 'default'],
  ...['dependentRequired', 'dependentSchemas', 'dependencies'],
  ...['minLength', 'maxLength', 'contentEncoding', 'contentMediaType', 'contentSchema'],
  ...['uniqueItems', 'contains', 'minContains', 'maxContains', 'prefixItems', 'additionalItems', 'unevaluatedItems'],
  ...['patternProperties', 'propertyNames', 'minProperties', 'maxProperties', 'unevaluatedProperties'],
]);

const FORMATS: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
]);

/** A schema has one of these, or a type. */
const IN_PLACE_OF_TYPE = ['$ref', 'anyOf', 'enum', 'const'];

const COMPOSED_ROOT = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'];

type Schema = Readonly<Record<string, unknown>>;

/** The first violation in a schema: its message, and the keys that lead there. */
interface SchemaFault {
  readonly message: string;
  readonly context: string[];
}

const checkParameters: Check = (value, { tolerated }) => {
  const { name, strict, parameters } = value as { readonly name: string } & Schema;
  if (strict !== true || parameters == null || tolerated?.has('strict_schemas') === true) return null;
  const fault = describeFault(parameters as Schema);
  if (fault === null) return null;
  const message = `Invalid schema for function '${name}': ${fault}`;
  return new Violation('invalid_function_parameters', () => message).under('parameters');
};

const checkFormat: Check = (value, { tolerated }) => {
  const { name, strict, schema } = value as { readonly name: string } & Schema;
  if (strict !== true || tolerated?.has('strict_schemas') === true) return null;
  const fault = describeFault(schema as Schema);
  if (fault === null) return null;
  const message = `Invalid schema for response_format '${name}': ${fault}`;
  return new Violation('invalid_json_schema', () => message).under('schema');
};

// The subset of Structured Outputs holds only for some values of other members, so the schema leaves it out.

/** `parameters` of a function whose members have the right types (protocol §3.4). */
export const strictParameters = described(checkParameters, {});

/** `schema` of a `text.format` whose members have the right types (protocol §2). */
export const strictFormat = described(checkFormat, {});

/** What is wrong with a schema in strict mode, in OpenAI's words; null if nothing is. */
function describeFault(schema: Schema): string | null {
  if (schema.type !== 'object') {
    const type = schema.type === undefined ? '"None"' : clip(JSON.stringify(schema.type));
    return `schema must be a JSON Schema of 'type: "object"', got 'type: ${type}'.`;
  }
  if (COMPOSED_ROOT.some((keyword) => Object.hasOwn(schema, keyword))) {
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
  }
  const fault = faultOf(schema);
  return fault === null ? null : `In context=${toTuple(fault.context)}, ${fault.message}`;
}

/** Recursive: BODY_MAX_LEVELS bounds the depth of a request. */
function faultOf(schema: unknown): SchemaFault | null {
  if (!isObject(schema)) return found("schema must have a 'type' key.");
  const keyword = Object.keys(schema).find((name) => NOT_PERMITTED.has(name));
  if (keyword !== undefined) return found(`'${keyword}' is not permitted.`);
  if (schema.type === undefined && !IN_PLACE_OF_TYPE.some((name) => Object.hasOwn(schema, name))) {
    return found("schema must have a 'type' key.");
  }
  const own = (isOfType(schema, 'object') ? objectFault(schema) : null) ?? valueFault(schema);
  return own ?? nestedFault(schema);
}

function objectFault({ additionalProperties, properties, required }: Schema): SchemaFault | null {
  if (additionalProperties !== false)
    return found("'additionalProperties' is required to be supplied and to be false.");
  if (!isObject(properties)) return found('object schema missing properties.');
  const listed = new Set<unknown>(Array.isArray(required) ? required : []);
  const rule = "'required' is required to be supplied and to be an array including every key in properties.";
  const missing = Object.keys(properties).find((name) => !listed.has(name));
  if (missing !== undefined) return found(`${rule} Missing '${clip(missing)}'.`);
  const extra = [...listed].find((name) => typeof name !== 'string' || !Object.hasOwn(properties, name));
  return extra === undefined ? null : found(`${rule} Extra required key '${quote(extra)}' supplied.`);
}

function valueFault(schema: Schema): SchemaFault | null {
  const { format, items } = schema;
  if (isOfType(schema, 'array') && items === undefined) return found('array schema missing items.');
  if (format === undefined || !isOfType(schema, 'string') || FORMATS.has(format)) return null;
  return found(`'${quote(format)}' is not a valid format.`);
}

function nestedFault({ properties, items, anyOf, $defs, definitions }: Schema): SchemaFault | null {
  return (
    faultIn('properties', properties) ??
    (items === undefined ? null : under('items', faultOf(items))) ??
    faultIn('anyOf', anyOf) ??
    faultIn('$defs', $defs) ??
    faultIn('definitions', definitions)
  );
}

/** The first violation in a map or a list of schemas. */
function faultIn(keyword: string, schemas: unknown): SchemaFault | null {
  if (typeof schemas !== 'object' || schemas === null) return null;
  for (const [key, schema] of Object.entries(schemas)) {
    const fault = under(key, faultOf(schema));
    if (fault !== null) return under(keyword, fault);
  }
  return null;
}

function isOfType({ type }: Schema, name: string): boolean {
  return type === name || (Array.isArray(type) && type.includes(name));
}

/** Client text, or another value as JSON. */
function quote(value: unknown): string {
  return clip(typeof value === 'string' ? value : JSON.stringify(value));
}

function found(message: string): SchemaFault {
  return { message, context: [] };
}

function under(key: string, fault: SchemaFault | null): SchemaFault | null {
  fault?.context.unshift(key);
  return fault;
}

/** A tuple as Python prints it. */
function toTuple(context: readonly string[]): string {
  const quoted = context.map((key) => `'${clip(key)}'`);
  return quoted.length === 1 ? `(${quoted.join('')},)` : `(${quoted.join(', ')})`;
}
