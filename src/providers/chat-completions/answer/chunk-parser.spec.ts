import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ChunkParser } from './chunk-parser.js';

const word = fc.oneof(
  fc.constantFrom(' the', ' model', '', '"', '\\', '\n', '\u0085', 'é', '😀', '"content":"'),
  fc.string(),
);
const member = fc.constantFrom('role', 'content', 'reasoning_content', 'content ', 'delta', '__proto__', '1');
const delta = fc.array(
  fc.tuple(member, fc.oneof({ weight: 4, arbitrary: word }, fc.constant(null), fc.constant(['content']))),
  {
    maxLength: 3,
  },
);
const chunk = fc.record({
  id: fc.constantFrom('chatcmpl-1', 'content'),
  deltas: fc.array(delta, { minLength: 1, maxLength: 2 }),
  usage: fc.constantFrom(null, { content: ' the' }),
});

/** Written by hand, so that members may occur twice, and `__proto__` is one of them. */
function write(
  { id, deltas, usage }: { id: string; deltas: [string, unknown][][]; usage: unknown },
  colon: string,
): string {
  const choices = deltas.map((members) => {
    const inner = members.map(([name, value]) => `${JSON.stringify(name)}${colon}${JSON.stringify(value)}`);
    return `{"index":0,"delta":{${inner.join(',')}}}`;
  });
  return `{"id":"${id}","choices"${colon}[${choices.join(',')}],"usage":${JSON.stringify(usage)}}`;
}

const stream = fc.tuple(fc.array(chunk, { maxLength: 3 }), fc.array(fc.tuple(fc.nat(2), word), { maxLength: 12 }));

describe(ChunkParser, () => {
  it('chunks that differ from others in one text are read as JSON.parse reads them', () => {
    const property = fc.property(stream, fc.constantFrom(':', ' : '), ([chunks, steps], colon) => {
      const parser = new ChunkParser([]);
      for (const [index, text] of steps) {
        const form = chunks[index];
        if (form === undefined) continue;
        const [first = [], ...others] = form.deltas;
        const said = first.map(([name, value]): [string, unknown] => [name, typeof value === 'string' ? text : value]);
        const json = write({ ...form, deltas: [said, ...others] }, colon);
        expect(JSON.stringify(parser.parse(json))).toBe(JSON.stringify(JSON.parse(json)));
      }
    });
    fc.assert(property, { seed: 46, numRuns: 2000 });
  });

  it('a chunk with another text is the chunk before, and not parsed', () => {
    const parser = new ChunkParser([]);
    const say = (content: string) =>
      parser.parse(JSON.stringify({ id: 'chatcmpl-1', choices: [{ delta: { content } }] }));
    const first = say(' the');
    const lineBreak = say('\n');
    expect(lineBreak).not.toBe(first);
    expect(say(' model')).toBe(first);
    expect(first.choices).toEqual([{ delta: { content: ' model' } }]);
  });

  it.each(['"', '\\', '\t', '\u0000'])(
    'a chunk with the character %j in its text, which JSON must escape, is refused as JSON.parse refuses it',
    (character) => {
      const parser = new ChunkParser([]);
      const write = (content: string) => `{"choices":[{"delta":{"content":"${content}"}}]}`;
      parser.parse(write(' the'));
      expect(() => parser.parse(write(character))).toThrow();
    },
  );
});
