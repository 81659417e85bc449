import { isDeepStrictEqual } from 'node:util';

import { describe, expect, it } from '@jest/globals';

import { closed, type Schema, word } from '../../../test/support/schemas.js';
import { fillSchema } from './fill-schema.js';
import { makeSchemaData } from './schema-data.js';

const many = (count: number, make: (index: number) => Schema): readonly Schema[] =>
  Array.from({ length: count }, (_, index) => make(index));
const properties = (count: number): Schema => closed(Object.fromEntries(many(count, () => word).entries()));

const LONG: readonly (readonly [name: string, schema: Schema])[] = [
  ['different items', { type: 'array', uniqueItems: true, minItems: 4000 }],
  ['many items', { type: 'array', minItems: 4000, items: word }],
  ['many properties, which Ajv takes long to compile', properties(400)],
];

/** Counts how often the event loop went round until a promise was settled. */
async function countRounds(promise: Promise<unknown>): Promise<number> {
  let rounds = 0;
  let isOver = false;
  const count = (): void => {
    if (isOver) return;
    rounds += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await promise;
  isOver = true;
  return rounds;
}

/** Calls itself so often before it runs something. */
function atDepth(depth: number, run: () => void): void {
  if (depth <= 0) run();
  else atDepth(depth - 1, run);
}

/** How often it may call itself, here and now. */
function deepest(): number {
  let depth = 1000;
  for (;;) {
    try {
      atDepth(depth, () => undefined);
    } catch {
      return depth;
    }
    depth += 100;
  }
}

describe(fillSchema.name, () => {
  it.each(LONG)('fillSchema does not let the event loop wait for what takes long: %s', async (_name, schema) => {
    const filled = fillSchema(schema, 7);
    expect(await countRounds(filled)).toBeGreaterThan(0);
    expect(await filled).toEqual(makeSchemaData(schema, 7));
  });

  it('fillSchema starts no thread for an ordinary tool', async () => {
    const filled = fillSchema(properties(30), 7);
    expect(await countRounds(filled)).toBe(0);
    expect(await filled).toEqual(makeSchemaData(properties(30), 7));
  });

  it('fillSchema gives the same, or fails, however much of the stack is left', () => {
    const schema = many(30, () => word).reduce<Schema>((inner) => closed({ word, inner }), word);
    const expected = makeSchemaData(schema, 7);
    const outcomes = new Set<unknown>();
    const most = deepest();
    for (let left = 0; !outcomes.has('the same'); left += 5) {
      try {
        atDepth(most - left, () => {
          const data = makeSchemaData(schema, 7);
          outcomes.add(isDeepStrictEqual(data, expected) ? 'the same' : data);
        });
      } catch (error) {
        outcomes.add((error as Error).name);
      }
    }
    expect(outcomes).toEqual(new Set(['RangeError', 'the same']));
  });

  it('fillSchema fills in its thread what finds too little of the stack', async () => {
    const schema = many(30, () => word).reduce<Schema>((inner) => closed({ word, inner }), word);
    const expected = makeSchemaData(schema, 7);
    const most = deepest();
    const outcomes: unknown[] = [];
    for (let left = 0; outcomes.length < 50; left += 20) {
      await new Promise<void>((resolve) => {
        try {
          atDepth(most - left, () => {
            void fillSchema(schema, 7)
              .then(
                (data) => outcomes.push(data),
                (error: unknown) => expect(error).toBeInstanceOf(RangeError),
              )
              .then(() => resolve());
          });
        } catch {
          // There was no room to begin.
          resolve();
        }
      });
    }
    expect(new Set(outcomes.map((data) => isDeepStrictEqual(data, expected)))).toEqual(new Set([true]));
  });

  it('fillSchema fills one after another, each with its own', async () => {
    const filled = await Promise.all([2001, 2002, 2003].map((minItems) => fillSchema({ type: 'array', minItems }, 7)));
    expect(filled.map((data) => data.found && (data.value as unknown[]).length)).toEqual([2001, 2002, 2003]);
  });

  it('fillSchema refuses at once what is too large to be read', async () => {
    for (const schema of [properties(30_000), { description: 'x'.repeat(300_000) }]) {
      const filled = fillSchema(schema, 7);
      expect(await countRounds(filled)).toBe(0);
      expect(await filled).toEqual({ found: false, reason: 'It is too large for the simulator.', tooMuch: true });
    }
  });

  it.each(['allOf', 'anyOf', 'oneOf'])(
    'fillSchema refuses more than 1,000 schemas in %s, before Ajv compiles them',
    async (list) => {
      const schema = { [list]: many(1001, (index) => ({ required: [`p${index}`] })) };
      expect(await fillSchema(schema, 7)).toMatchObject({
        found: false,
        reason: expect.stringContaining('1000 schemas'),
      });
    },
  );
});
