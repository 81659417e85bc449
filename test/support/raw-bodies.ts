import fc from 'fast-check';

import { anyCharacter } from './any-character.js';
import { type Json, SAMPLES } from './raw-samples.js';

/** What is done to one place of a sample: JSON texts, because most of what hurts has no JavaScript value. */
export type Edit =
  | { readonly kind: 'replace'; readonly json: string }
  | { readonly kind: 'remove' }
  | { readonly kind: 'add'; readonly name: string; readonly json: string };

/** How many places a sample has: every value in it, itself included. */
export function countPlaces(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, member: Json) => sum + countPlaces(member), 1);
}

/** Writes a sample with one of its places changed. */
export function writeEdited(sample: Json, place: number, edit: Edit): string {
  let left = place;
  const write = (value: Json): string | undefined => {
    const here = left === 0;
    left -= 1;
    if (here && edit.kind === 'replace') return edit.json;
    if (here && edit.kind === 'remove') return undefined;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const isArray = Array.isArray(value);
    const members = Object.entries(value).flatMap(([name, member]) => {
      const text = write(member);
      if (text === undefined) return [];
      return [isArray ? text : `${JSON.stringify(name)}:${text}`];
    });
    if (here && edit.kind === 'add') members.push(isArray ? edit.json : `${edit.name}:${edit.json}`);
    return isArray ? `[${members.join()}]` : `{${members.join()}}`;
  };
  return write(sample) ?? '';
}

/** Values nested 10 000 levels deep, as JSON texts. */
export const DEEP_VALUES: readonly string[] = [
  '['.repeat(10_000) + ']'.repeat(10_000),
  '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000),
  '[{"items":'.repeat(5_000) + '[]' + '}]'.repeat(5_000),
];

const NASTY_STRINGS = [
  '""',
  '" "',
  String.raw`"\u0000"`,
  String.raw`"\ud800"`,
  String.raw`"\udfff\ud800 x"`,
  String.raw`"a\u0000b\u0008\u001b[31m"`,
  '"\u{10ffff}\u202e\ufeff\u2028"',
  '"e\u0301\u0301\u0301\u0301"',
  '"<|endoftext|><|im_start|>"',
  `"${'x'.repeat(70_000)}"`,
  `"${'\u{1f600}'.repeat(3000)}"`,
  '"../../etc/passwd"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"hasOwnProperty"',
  '"resp_"',
  '"resp_01a1fbc39ad8717fb47718c657f7f585"',
  '"resp_\\r\\nx: y"',
];

const NASTY_NUMBERS = '0 -0 -1 1 0.1 1e400 -1e400 5e-324 9007199254740993 1E+2 4294967296'.split(' ');

const NASTY_OTHERS = [
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '[{}]',
  '["a",1,null,true,{}]',
  '{"__proto__":{"type":"object"}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"type":"__proto__"}',
  '{"type":"constructor"}',
  '{"type":null}',
  '{"type":"toString","content":"x"}',
  '{"type":"message"}',
  '{"type":"item_reference","id":"msg_1"}',
  '{"then":"x","toJSON":"x","valueOf":1,"toString":1,"length":-1}',
  '{"$ref":"#"}',
  '{"type":"string","pattern":"(a+)+$"}',
  '{"type":"array","minItems":1e9}',
  '{"type":"integer","multipleOf":0}',
  `[${'null,'.repeat(2000)}null]`,
  `{${Array.from({ length: 500 }, (_, index) => `"k${index}":${index}`).join()}}`,
];

/** The values that the random ones are drawn from as well, so that each can be tried in each place. */
export const NASTY_VALUES: readonly string[] = [...NASTY_STRINGS, ...NASTY_NUMBERS, ...NASTY_OTHERS];

const nastyValue = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NASTY_STRINGS) },
  { weight: 4, arbitrary: fc.constantFrom(...NASTY_NUMBERS) },
  { weight: 5, arbitrary: fc.constantFrom(...NASTY_OTHERS) },
  { weight: 3, arbitrary: fc.json({ maxDepth: 4, stringUnit: anyCharacter }) },
  { weight: 1, arbitrary: fc.double().map((value) => (Number.isFinite(value) ? String(value) : '1e999')) },
);

const KNOWN_NAMES = ['model', 'input', 'type', 'role', 'content', 'id', 'call_id', 'name', 'tools', 'stream', 'text'];
const NASTY_NAMES = [...'__proto__ constructor prototype toString hasOwnProperty then toJSON 0'.split(' '), '', '\0'];

const nastyName = fc.constantFrom(...KNOWN_NAMES, ...NASTY_NAMES).map((name) => JSON.stringify(name));

const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('replace' as const), json: nastyValue }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'remove' as const }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('add' as const), name: nastyName, json: nastyValue }) },
);

/** Requests that are good but for one place. */
export const editedBody: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(...SAMPLES), fc.nat(), edit)
  .map(([sample, place, change]) => writeEdited(sample, place % countPlaces(sample), change));

/** Requests that are no JSON any more, or other JSON than was meant: cut, and with bytes changed at random. */
export const damagedBody: fc.Arbitrary<Buffer> = fc
  .record({
    sample: fc.constantFrom(...SAMPLES),
    at: fc.nat(),
    kind: fc.constantFrom('cut', 'insert', 'overwrite', 'drop', 'prepend'),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }),
  })
  .map(({ sample, at, kind, bytes }) => {
    const body = Buffer.from(JSON.stringify(sample));
    const position = at % body.length;
    const [head, tail] = [body.subarray(0, position), body.subarray(position)];
    if (kind === 'cut') return head;
    if (kind === 'insert') return Buffer.concat([head, bytes, tail]);
    if (kind === 'overwrite') return Buffer.concat([head, bytes, tail.subarray(bytes.length)]);
    return kind === 'drop' ? Buffer.concat([head, tail.subarray(1)]) : Buffer.concat([bytes, body]);
  });

/** JSON of any shape at all, most of it no request. */
export const anyBody: fc.Arbitrary<string> = fc.oneof(nastyValue, fc.json({ stringUnit: anyCharacter }), fc.string());
