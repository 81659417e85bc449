import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';

import {
  AddItemsBody,
  CreateConversationBody,
  UpdateConversationBody,
} from '../../src/resources/conversations/conversation-bodies.js';
import { ListParameters, TreeParameters } from '../../src/resources/graph/list-query.js';
import { PageParameters } from '../../src/http/index.js';
import { CompactRequestBody } from '../../src/responses/dto/compact-request-body.js';
import { CreateEventBody, CreateRequestBody, InputTokensBody } from '../../src/responses/dto/index.js';
import { ForkBody } from '../../src/resources/sessions/fork-body.js';
import { type DecoratedClass, Definitions, membersOf, nested, schemaOf } from '../../src/validation/index.js';
import { mutated, valuesOf } from './bodies-from-schema.js';
import type { Json } from './documents.js';

const CLASSES: readonly DecoratedClass[] = [
  ...[CreateRequestBody, CreateEventBody, CompactRequestBody, InputTokensBody],
  ...[CreateConversationBody, UpdateConversationBody, AddItemsBody, ForkBody],
  ...[PageParameters, ListParameters, TreeParameters],
];

/** What validators refuse and schemas cannot, by the message, with the reason. */
const BEYOND_SCHEMAS: readonly (readonly [message: RegExp, reason: string])[] = [
  [/Expected a valid URL/, 'the form of URLs has no keyword that validators agree on'],
  [/Expected a base64-encoded data URL/, 'so has that of data'],
  [/^Invalid schema for /, 'a schema of a schema is not part of OpenAPI; strict mode depends on another member'],
];

/** A class and its schema, as verdicts about a value. */
function verdictsOf(target: DecoratedClass) {
  const definitions = new Definitions('#/components/schemas/');
  const check = nested(target);
  const schema = schemaOf(check, definitions);
  const components = { schemas: definitions.all() };
  const accepts = new Ajv2020({ strict: false }).compile({ ...schema, components });
  return {
    schemas: components.schemas,
    ofSchema: (value: unknown): boolean => accepts(value),
    ofValidator: (value: unknown): string | null =>
      check(value, { unknownParameters: 'ignore' })?.toError().message ?? null,
  };
}

describe.each(CLASSES.map((target) => [target.name, target] as const))('the schema of %s', (name, target) => {
  const { schemas, ofSchema, ofValidator } = verdictsOf(target);

  it('a schema of the description has the members of its class', () => {
    expect(Object.keys(schemas[name]?.properties as object).sort()).toEqual([...membersOf(target)].sort());
  });

  it('a schema of the description accepts what the validator accepts', () => {
    const verdicts = { accepted: 0, refused: 0 };
    const values = valuesOf({ $ref: `#/components/schemas/${name}` }, schemas);
    const some = fc.oneof(values, values.chain(mutated));
    fc.assert(
      fc.property(some, (value) => {
        // As it arrives: without members that are undefined.
        const body = JSON.parse(JSON.stringify(value)) as Json;
        const message = ofValidator(body);
        const isAccepted = ofSchema(body);
        verdicts[isAccepted ? 'accepted' : 'refused'] += 1;
        if (isAccepted === (message === null)) return;
        const isExcepted = isAccepted && BEYOND_SCHEMAS.some(([pattern]) => pattern.test(message ?? ''));
        if (!isExcepted) throw new Error(`schema: ${String(isAccepted)}, validator: ${message ?? 'accepts'}`);
      }),
      { numRuns: 400, seed: 22 },
    );
    expect(Math.min(verdicts.accepted, verdicts.refused)).toBeGreaterThan(30);
  });
});
