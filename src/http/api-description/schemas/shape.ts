/** Short forms of JSON Schema for what the service sends. */
import { type JsonSchema, orNull as nullable } from '../../../validation/index.js';

export { nullable };

/** Schemas of an object's members by name. */
export type Members = Readonly<Record<string, JsonSchema>>;

export const TEXT: JsonSchema = { type: 'string' };
export const INTEGER: JsonSchema = { type: 'integer' };
export const NUMBER: JsonSchema = { type: 'number' };
export const FLAG: JsonSchema = { type: 'boolean' };
export const NOTHING: JsonSchema = { type: 'null' };
export const ANY: JsonSchema = {};
export const OBJECT: JsonSchema = { type: 'object' };
export const SECONDS: JsonSchema = { type: 'integer', description: 'Unix seconds.' };

/** One text, or one of several. */
export function oneOf(...values: readonly string[]): JsonSchema {
  return values.length === 1 ? { type: 'string', const: values[0] } : { type: 'string', enum: values };
}

/** An object with members that it always has, and others. Clients must accept members that are not named. */
export function object(required: Members, optional: Members = {}): JsonSchema {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } };
}

/** An array. */
export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

/** A schema of `components/schemas`, which OpenAPI and AsyncAPI have in the same place. */
export function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** A page of a list (protocol §1.1). */
export const pageOf = (name: string): JsonSchema =>
  object({
    object: oneOf('list'),
    data: listOf(ref(name)),
    first_id: nullable(TEXT),
    last_id: nullable(TEXT),
    has_more: FLAG,
  });
