/** Requests that cost a server more than a client: each at most 16 MiB, by the name of their shape. */
import { gzipSync } from 'node:zlib';

const MEGABYTE = 1024 * 1024;
const MOST_BYTES = 16 * MEGABYTE;

/** A body. */
export interface HostileBody {
  readonly name: string;
  readonly bytes: Buffer;
  /** The `content-encoding`. */
  readonly encoding?: string;
}

const message = { role: 'user', content: 'Hi' };
const call = { type: 'function_call_output', call_id: 'call_1', output: 'x' };

/** Makes the members of a body, which are large. Without an input, it is `Hi`. */
type Make = () => object;

const SHAPES: Readonly<Record<string, Make>> = {
  '16 MiB of text': () => ({ input: 'x'.repeat(MOST_BYTES - MEGABYTE) }),
  '16 MiB of line breaks': () => ({ input: '\n'.repeat(MOST_BYTES / 2 - MEGABYTE) }),
  '16 MiB of text in 10,000 items': () => ({
    input: many(10_000, () => ({ role: 'user', content: 'Lorem ipsum dolor sit amet, '.repeat(52) })),
  }),
  '10,000 items': () => ({ input: many(10_000, () => message) }),
  '200,000 items': () => ({ input: many(200_000, () => message) }),
  '10,000 outputs without a call': () => ({ input: many(10_000, () => call) }),
  '50,000 unknown members': () => named(49_000, () => 1),
  '1,000,000 unknown members': () => named(1_000_000, () => 1),
  '40,000 properties of a tool': () => ({ tools: [tool(40_000)] }),
  '300,000 properties of a tool': () => ({ tools: [tool(300_000)] }),
  '16,000 tools': () => ({ tools: many(16_000, (index) => tool(1, `f${index}`)) }),
  'a picture of 10 MB': () => ({ input: [{ role: 'user', content: [picture(10 * MEGABYTE)] }] }),
  '10,000 pictures': () => ({ input: [{ role: 'user', content: many(10_000, () => picture(300)) }] }),
  '1,000 hosts beyond ASCII': () => ({ input: [{ role: 'user', content: many(1000, strangeHost) }] }),
  '8,000 allowed tools': () => ({
    tools: many(8000, (index) => ({ type: 'custom', name: index === 0 ? 'z' : 'a' })),
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: many(8000, () => ({ type: 'custom', name: 'z' })) },
  }),
  'a name of 10 MiB': () => format({ properties: { ['~/'.repeat(5 * MEGABYTE)]: 5 } }, { name: 'a' }),
  'a strict schema of 20,000 properties': () =>
    format({ ...objectOf(20_000, () => ({ type: 'string' })), additionalProperties: false }, { strict: true }),
  '16 MiB of text in gzip': () => ({ client_metadata: { text: 'x'.repeat(MOST_BYTES - MEGABYTE) } }),
  '490,000 numbers': () => ({ client_metadata: { list: many(490_000, (index) => index / 7) } }),
};

/** Schemas that are slow to fill, to compile or to check, each for a reason of its own. */
const SLOW_SCHEMAS: Readonly<Record<string, Make>> = {
  '4,000 different items': () => ({ type: 'array', uniqueItems: true, minItems: 4000 }),
  'lists of lists of different items': () => {
    const list = { type: 'array', minItems: 60, uniqueItems: true };
    return { ...list, items: list };
  },
  '15,000 items': () => ({ type: 'array', minItems: 15_000 }),
  '3,000 items, none of which is the one to contain': () => {
    return { type: 'array', minItems: 3000, contains: { const: 'x' } };
  },
  '2,000 alternatives': () => ({ oneOf: many(2000, (index) => ({ required: [`m${index}`] })) }),
  '100 lists of 60 alternatives': () => objectOf(100, () => ({ oneOf: many(60, () => ({ type: 'integer' })) })),
  '40 times 100 parts': () => ({
    allOf: many(40, () => ({ allOf: many(100, (index) => objectOf(1, () => ({}), index)) })),
  }),
  '70 times 70 properties': () => objectOf(70, () => objectOf(70, () => ({ type: 'string' }))),
  '1,000 patterns': () => objectOf(1000, (index) => ({ type: 'string', pattern: `^[a-z]{3}-${index}$` })),
  '300 patterns of properties': () => {
    const patterns = many(300, (index) => [`^[a-z]{${(index % 9) + 1}}$|${index}`, {}] as const);
    return { type: 'object', patternProperties: Object.fromEntries(patterns), minProperties: 800 };
  },
  '900 names of a pattern': () => {
    return { type: 'object', minProperties: 900, propertyNames: { pattern: '^[a-z]{9}$' } };
  },
  'a pattern that backtracks': () => objectOf(1, () => ({ type: 'string', pattern: '(x+x+)+y', minLength: 3000 })),
  'references that double': () => ({ $ref: '#/$defs/m0', $defs: named(12, doubled) }),
  '3,000 definitions': () => {
    return { ...objectOf(3000, (index) => ({ $ref: `#/$defs/m${index}` })), $defs: named(3000, () => ({})) };
  },
  'an enum of 15,000': () => {
    return { type: 'array', minItems: 2000, items: { enum: many(15_000, (index) => `v${index}`) } };
  },
};

/** The name of each body, and what builds it. */
export function hostileBodies(): readonly { readonly name: string; readonly build: () => HostileBody }[] {
  const toMembers = ([name, make]: [string, Make]) => [name, () => JSON.stringify(toRequest(make()))] as const;
  const texts = [
    ...Object.entries(SHAPES).map(toMembers),
    ...Object.entries(SLOW_SCHEMAS).map(([name, make]) => toMembers([`a schema of ${name}`, () => format(make())])),
    ['250,000 levels', () => `{"model":"gpt-5","input":${nested(250_000)}}`] as const,
    [
      '500 lists of 250 levels',
      () => `{"model":"gpt-5","input":"Hi","client_metadata":[${many(500, () => nested(250)).join(',')}]}`,
    ] as const,
  ];
  return texts.map(([name, make]) => ({ name, build: () => toBody(name, make) }));
}

/** The latest one, which is used in all its rounds. */
let latest: HostileBody | undefined;

function toBody(name: string, make: () => string): HostileBody {
  if (latest?.name === name) return latest;
  const bytes = Buffer.from(make());
  if (bytes.length > MOST_BYTES) throw new Error(`${name}: ${bytes.length} bytes`);
  latest = name.endsWith(' in gzip') ? { name, bytes: gzipSync(bytes), encoding: 'gzip' } : { name, bytes };
  return latest;
}

function toRequest(members: object): object {
  return { model: 'gpt-5', input: 'Hi', ...members };
}

function format(schema: object, members: object = {}): object {
  return { text: { format: { type: 'json_schema', name: 'answer', schema, ...members } } };
}

function many<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function named<T>(count: number, make: (index: number) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(many(count, (index) => [`m${index}`, make(index)]));
}

function tool(properties: number, name = 'f'): object {
  return { type: 'function', name, parameters: { type: 'object', properties: named(properties, () => ({})) } };
}

/** An object with required properties, named from `m` and a number on. */
function objectOf(count: number, make: (index: number) => object, first = 0): object {
  const entries = many(count, (index) => [`m${first + index}`, make(index)] as const);
  return { type: 'object', properties: Object.fromEntries(entries), required: entries.map(([name]) => name) };
}

/** A definition whose values hold two of the next one. */
function doubled(index: number): object {
  return index === 11 ? { type: 'string' } : objectOf(2, () => ({ $ref: `#/$defs/m${index + 1}` }));
}

function picture(bytes: number): object {
  return { type: 'input_image', detail: 'low', image_url: `data:image/png;base64,${'AAAA'.repeat(bytes / 4)}` };
}

function strangeHost(): object {
  const host = many(4000, (index) => String.fromCharCode(0x4e00 + index)).join('');
  return { type: 'input_image', detail: 'low', image_url: `http://${host}/a` };
}

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels);
}
