import { describe, expect, it } from '@jest/globals';

import { closed, type Schema, word } from '../support/schemas.js';
import { answer, callTool } from '../support/simulated-turn.js';

const UNSATISFIABLE: readonly (readonly [name: string, schema: Schema])[] = [
  ['a contradiction', closed({ a: { type: 'integer', minimum: 5, maximum: 4 } })],
  ['two types at once', closed({ a: { allOf: [{ type: 'string' }, { type: 'integer' }] } })],
  ['an empty enum', closed({ a: { enum: [] } })],
  ['a reference to nowhere', closed({ a: { $ref: '#/$defs/missing' } })],
  ['a reference to the network', closed({ a: { $ref: 'http://127.0.0.1:9/schema.json' } })],
  ['a reference to itself', closed({ a: { $ref: '#/properties/a' } })],
  ['endless recursion', closed({ a: { $ref: '#' } })],
  ['an unknown type', closed({ a: { type: 'strin' } })],
  ['a broken pattern', closed({ a: { type: 'string', pattern: '([' } })],
  ['a string without end', closed({ a: { ...word, minLength: 1e9 } })],
  ['a list without end', closed({ a: { type: 'array', items: word, minItems: 1e9 } })],
  ['a pattern without end', closed({ a: { type: 'string', pattern: '^(A{9999}){9999}$' } })],
  ['an object without end', closed({ a: { type: 'object', minProperties: 1e9 } })],
  ['fifty thousand properties', closed(Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`p${n}`, word])))],
  ['a thousand levels', Array.from({ length: 1000 }).reduce<Schema>((inner) => closed({ inner }), word)],
];

describe('tool arguments', () => {
  it.each(UNSATISFIABLE)('tool arguments are empty where nothing fits: %s', async (_name, schema) => {
    await expect(callTool(schema, 1)).resolves.toEqual({});
  });

  it.each([null, undefined, {}])('tool arguments are an object where the schema is %p', async (schema) => {
    const value = await callTool(schema, 1);
    expect(value).toEqual(expect.any(Object));
    expect(Array.isArray(value)).toBe(false);
  });

  it('tool arguments are harmless words where the schema leaves strings open', async () => {
    const schema = closed({
      command: word,
      path: { ...word, maxLength: 200 },
      list: { type: 'array', items: word, minItems: 3 },
      letters: { ...word, pattern: '^.{4,}$' },
    });
    for (let seed = 1; seed <= 50; seed++) {
      for (const text of JSON.stringify(Object.values((await callTool(schema, seed)) as object)).match(/"[^"]*"/g) ??
        []) {
        expect(text).toMatch(/^"[a-z]+( [a-z]+)*"$/);
      }
    }
  });

  it('tool arguments make optional properties at times', async () => {
    const names = new Set<string>();
    for (let seed = 1; seed <= 20; seed++)
      names.add(Object.keys((await callTool(closed({ a: word, b: word }, []), seed)) as object).join());
    expect(names.size).toBeGreaterThan(1);
  });
});

describe('structured output', () => {
  it.each([...UNSATISFIABLE, ['no schema', 'x' as unknown as Schema] as const])(
    'structured output is refused where nothing fits: %s',
    async (_name, schema) => {
      await expect(answer(schema, 1)).rejects.toMatchObject({
        name: 'ModelError',
        code: 'invalid_json_schema',
        options: { status: 400, param: 'text.format.schema' },
      });
    },
  );
});
