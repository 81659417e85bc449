import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';

import { closed, type Schema } from '../support/schemas.js';
import { callTool } from '../support/simulated-turn.js';

const RUNS = { seed: 20_260_101, numRuns: 60 };

const AJV = addFormats.default(new Ajv2020({ strict: false, logger: false }));

/** Formats with characters of their own; none of them means anything to a shell. */
const SPELLED = [
  ...['date-time', 'date', 'time', 'duration', 'email', 'idn-email', 'uri', 'uri-reference', 'iri', 'iri-reference'],
  ...['hostname', 'idn-hostname', 'ipv4', 'ipv6', 'uuid', 'json-pointer', 'relative-json-pointer', 'byte', 'url'],
  ...['iso-time', 'iso-date-time', 'json-pointer-uri-fragment'],
];
/** Formats that plain words match, and unknown formats. */
const PLAIN = ['regex', 'password', 'binary', 'path', 'command', 'x-unknown'];

const WORDS = /^(?:[a-z]+(?: [a-z]+)*)?$/;
/** No quotes, no expansion, no substitution, no redirection, no separators, no globs, no control characters. */
const SPELLING = /^[\w.:@/+=#-]+$/;

const bounds = (most: number): fc.Arbitrary<readonly [number, number]> =>
  fc.tuple(fc.nat({ max: most }), fc.nat({ max: 8 })).map(([least, more]) => [least, least + more]);

const plainString: fc.Arbitrary<Schema> = fc.oneof(
  fc.constant({ type: 'string' }),
  fc.constant({ type: 'string', description: 'A path, as in ../x; or a command: `rm -rf /`', default: '$(reboot)' }),
  fc.constant({ type: 'string', examples: ['-rf', '../..'], contentMediaType: 'text/plain', title: '$HOME' }),
  fc.constant({}),
  fc.constant({ type: ['string', 'null'] }),
  fc.constantFrom(...PLAIN).map((format) => ({ type: 'string', format })),
  bounds(60).map(([minLength, maxLength]) => ({ type: 'string', minLength, maxLength })),
  bounds(300).map(([minLength]) => ({ allOf: [{ type: 'string' }, { minLength }] })),
  bounds(300).map(([maxLength]) => ({ type: 'string', maxLength })),
  fc.constantFrom('text', 'alias', 'named').map((name) => ({ $ref: `#/$defs/${name}` })),
);

const spelledString = fc.constantFrom(...SPELLED).map((format) => ({ type: 'string', format }));

/** Schemas of any shape whose strings are those of `text`; `text` says nothing of what they hold. */
function schemaOf(text: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> {
  const { node } = fc.letrec<{ node: Schema; object: Schema }>((tie) => ({
    object: fc
      .tuple(fc.array(fc.tuple(tie('node'), fc.boolean()), { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([members, isClosed]) => {
        const properties = Object.fromEntries(members.map(([schema], index) => [`p${index}`, schema]));
        const required = members.flatMap(([, isRequired], index) => (isRequired ? [`p${index}`] : []));
        const schema = closed(properties, required);
        return isClosed ? schema : { ...schema, additionalProperties: true };
      }),
    node: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 4, arbitrary: text },
      { weight: 1, arbitrary: fc.constantFrom<Schema>({ type: 'integer' }, { type: 'boolean' }, { type: 'null' }) },
      { weight: 3, arbitrary: tie('object') },
      {
        weight: 2,
        arbitrary: fc
          .tuple(tie('node'), bounds(3))
          .map(([items, [minItems, maxItems]]) => ({ type: 'array', items, minItems, maxItems })),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.array(tie('node'), { minLength: 1, maxLength: 3 }), text)
          .map(([prefixItems, items]) => ({ type: 'array', prefixItems, items, minItems: prefixItems.length + 1 })),
      },
      { weight: 1, arbitrary: fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })) },
      { weight: 1, arbitrary: tie('object').map((object) => ({ oneOf: [object, { type: 'null' }] })) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(tie('node'), fc.nat({ max: 3 }))
          .map(([additionalProperties, minProperties]) => ({ type: 'object', additionalProperties, minProperties })),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(tie('node'), fc.nat({ max: 3 })).map(([schema, minProperties]) => ({
          type: 'object',
          patternProperties: { '^x-': schema },
          additionalProperties: false,
          minProperties,
        })),
      },
      { weight: 1, arbitrary: fc.constant({ $ref: '#/$defs/chain' }) },
    ),
  }));
  const chain = (next: Schema): Schema =>
    closed({ text: next, next: { anyOf: [{ $ref: '#/$defs/chain' }, { type: 'null' }] } });
  return fc.tuple(fc.array(node, { minLength: 1, maxLength: 4 }), text).map(([nodes, own]) => ({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...closed(Object.fromEntries(nodes.map((schema, index) => [`p${index}`, schema]))),
    $defs: {
      text: { type: 'string' },
      alias: { $ref: '#/$defs/text', description: 'Two steps away.' },
      named: { type: 'string', minLength: 2 },
      chain: chain(own),
    },
  }));
}

describe('tool arguments that no schema spells out', () => {
  it('tool arguments that no schema spells out are valid, and their strings are plain words', async () => {
    await fc.assert(
      fc.asyncProperty(schemaOf(plainString), fc.nat(), async (schema, seed) => {
        const value = await makerOf(schema)(seed);
        for (const text of listStrings(value)) expect(text).toMatch(WORDS);
        requireHarmless(value);
      }),
      RUNS,
    );
  });

  it('tool arguments that no schema spells out are valid, and harmless where a format spells them', async () => {
    await fc.assert(
      fc.asyncProperty(schemaOf(fc.oneof(spelledString, plainString)), fc.nat(), async (schema, seed) => {
        const value = await makerOf(schema)(seed);
        for (const text of listStrings(value)) if (!WORDS.test(text)) expect(text).toMatch(SPELLING);
        requireHarmless(value);
      }),
      RUNS,
    );
  });

  it.each(SPELLED)('tool arguments that no schema spells out are no path out of anywhere as %s', async (format) => {
    const schema = closed({ text: { type: 'string', format } });
    const make = makerOf(schema);
    for (let seed = 1; seed <= 40; seed++) {
      const value = await make(seed);
      requireHarmless(value);
      expect(listStrings(value)).toHaveLength(1);
    }
  });
});

/** Makes arguments that are valid. */
function makerOf(schema: Schema): (seed: number) => Promise<unknown> {
  const validate = AJV.compile(schema);
  return async (seed) => {
    const value = await callTool(schema, seed);
    expect([validate(value), validate.errors, value]).toEqual([true, null, value]);
    return value;
  };
}

/** All strings of a value, names of properties too; not those that the schemas here or json-schema-faker give. */
function listStrings(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  const names = Array.isArray(value)
    ? []
    : Object.keys(value).filter((name) => !/^(p\d|prop\d+|text|next)$/.test(name));
  return [
    ...names.map((name) => name.replace(/^x-/, '').replace(/_\d+$/, '')),
    ...Object.values(value).flatMap(listStrings),
  ];
}

function requireHarmless(value: unknown): void {
  for (const text of listStrings(value)) {
    expect(text).not.toMatch(/[;&|<>$`\\"'(){}[\]*?!~^%\p{Cc}]/u);
    expect(text).not.toMatch(/(^|\s)-/);
    expect(text).not.toMatch(/(^|\/)\.\.?(\/|$)/);
  }
}
