import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { checkEventOrder } from '../../src/testing/index.js';
import { ANSWER, assemble, called, type Event, final, ran, thought } from '../support/assembled-answer.js';
import { readUpstreamAnswer } from '../support/read-upstream-answer.js';

const oddValue = fc.oneof(
  fc.constantFrom<unknown>(null, 0, 1, 2, 5, -1, 1.5, true, '', 'x', [], {}, [null], [{}]),
  fc.constantFrom<unknown>('msg_1', 'fc_1', 'call_1', 'call_2', 'message', 'reasoning', 'function_call', 'shell_call'),
  fc.constantFrom<unknown>(...ANSWER.map(({ type }) => type), thought, final, called, ran),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Changes a value at some place in depth: a member is set or removed. */
function change(value: unknown, path: readonly number[], odd: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null) return odd;
  const names = Object.keys(value);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return odd;
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => [
    key,
    key === name ? change(member, rest, odd) : member,
  ]);
  return Array.isArray(value) ? entries.map(([, element]) => element) : Object.fromEntries(entries);
}

type Mutation = (events: readonly Event[]) => readonly Event[];

const place = fc.nat(ANSWER.length);
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  place.map(
    (index): Mutation =>
      (events) =>
        events.toSpliced(index, 1),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Mutation =>
      (events) =>
        events.toSpliced(to, 0, ...events.slice(from, from + 1)),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Mutation =>
      (events) =>
        events.toSpliced(from, 1).toSpliced(to, 0, ...events.slice(from, from + 1)),
  ),
  {
    weight: 4,
    arbitrary: fc.tuple(place, fc.array(fc.nat(7), { minLength: 1, maxLength: 4 }), oddValue).map(
      ([index, path, odd]): Mutation =>
        (events) =>
          events.map((event, at) => (at === index ? (change(event, path, odd) as Event) : event)),
    ),
  },
);
const mutated = fc
  .array(mutation, { minLength: 1, maxLength: 6 })
  .map((mutations) => mutations.reduce((events, mutate) => mutate(events), ANSWER));

describe('an answer of an upstream', () => {
  it('an answer of an upstream becomes a response in the order of the protocol, with the same output', () => {
    const read = readUpstreamAnswer(ANSWER);
    const events = assemble(read);
    checkEventOrder(events, { transport: 'ws' });
    const { output } = events.at(-1)?.['response'] as { readonly output: readonly Event[] };
    expect(read.counts).toEqual({});
    expect(output.map(({ id: _, ...item }) => item)).toEqual(
      read.reader.output.map(({ id: _, ...item }) => expect.objectContaining(item) as unknown),
    );
  });

  it('an answer of an upstream never violates the contract of providers, whatever is dropped, repeated, moved or changed in it', () => {
    fc.assert(
      fc.property(mutated, fc.constantFrom('sse', 'websocket'), (events, transport) => {
        const read = readUpstreamAnswer(events, { transport });
        const stream = assemble(read);
        expect(stream.at(-1)?.['type']).toBe('response.completed');
        const types = read.events.map(({ type }) => type);
        expect(types.indexOf('finish')).toBe(read.reader.isFinished ? types.length - 1 : -1);
      }),
      { numRuns: 2000 },
    );
  });
});
