import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Clock, IdGenerator } from '../../src/index.js';
import { SequentialIdGenerator } from '../../src/testing/index.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { WatchedClock } from '../support/clocks.js';

/** A turn, and whether it goes on from the one before it in the list. */
interface ListedTurn {
  readonly name: string;
  readonly body: object;
  readonly goesOn?: boolean;
}

/** What turns were like on the wire, byte by byte. */
interface RawTurns {
  readonly sse: readonly string[];
  readonly ws: readonly string[];
  /** Streams whose deltas are padded. */
  readonly padded: readonly string[];
}

const ID_OF_RESPONSE = /"id":"(resp_[^"]+)"/;

/** Runs turns one after another, first as streams, then on one socket, then as streams with padding. `more` is added to each. */
async function recordTurns(service: Service, turns: readonly ListedTurn[], more: object = {}): Promise<RawTurns> {
  await using client = await SocketClient.open(service);
  const frames: string[] = [];
  client.socket.on('message', (data: Buffer) => frames.push(toBytes(data)));
  const overSocket = async (body: object): Promise<string> => {
    frames.length = 0;
    await client.turn({ ...body });
    return frames.join('\n');
  };
  return {
    sse: await runInOrder(turns, (body) => readStream(service, { ...body, ...more })),
    ws: await runInOrder(turns, (body) => overSocket({ ...body, ...more })),
    padded: await runInOrder(turns, (body) => readStream(service, { ...body, ...more }, true)),
  };
}

/** Runs turns as streams, each list of those that go on from one another at the same time as all others. */
async function recordConversations(
  service: Service,
  conversations: readonly (readonly ListedTurn[])[],
): Promise<readonly (readonly string[])[]> {
  return Promise.all(conversations.map((turns) => runInOrder(turns, (body) => readStream(service, body))));
}

async function runInOrder(
  turns: readonly ListedTurn[],
  run: (body: object) => Promise<string>,
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const { body, goesOn = false } of turns) {
    const previous = ID_OF_RESPONSE.exec(texts.at(-1) ?? '')?.[1];
    texts.push(await run({ ...body, ...(goesOn ? { previous_response_id: previous } : {}) }));
  }
  return texts;
}

/** The whole body of a stream. */
async function readStream(service: Service, body: object, include_obfuscation = false): Promise<string> {
  const answer = await fetch(`${service.baseURL}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_obfuscation } }),
  });
  return toBytes(Buffer.from(await answer.arrayBuffer()));
}

/** One character for each byte. */
function toBytes(data: Buffer): string {
  return data.toString('latin1');
}

const parameters = {
  type: 'object',
  properties: { place: { type: 'string' }, days: { type: 'integer' }, at: { type: 'string', format: 'date-time' } },
  required: ['place', 'days', 'at'],
  additionalProperties: false,
};
const tools = [
  { type: 'function', name: 'look', parameters, strict: true },
  { type: 'custom', name: 'jot' },
  { type: 'namespace', name: 'crm', description: '', tools: [{ type: 'function', name: 'find', parameters }] },
];
const schema = {
  type: 'object',
  properties: {
    list: { type: 'array', items: { type: 'string' }, minItems: 3 },
    code: { type: 'string', pattern: '^[A-Z]{5}$' },
    contact: { type: 'string', format: 'email' },
    id: { type: 'string', format: 'uuid' },
    share: { type: 'number', minimum: 0, maximum: 1 },
  },
  required: ['list', 'code', 'contact', 'id', 'share'],
};
const text = { format: { type: 'json_schema', name: 'x', schema } };
const gpt = { model: 'gpt-4.1', input: 'Go on.' };
const o3 = { model: 'o3', input: 'Go on.' };

/** Turns, and what in their events shows that they are what their name says. */
const TURNS: readonly (ListedTurn & { readonly shows: string })[] = [
  { name: 'text', body: gpt, shows: 'response.output_text.done' },
  { name: 'a summary', body: { ...o3, reasoning: { summary: 'detailed' } }, shows: 'reasoning_summary_text.done' },
  {
    name: 'encrypted reasoning',
    body: { ...o3, include: ['reasoning.encrypted_content'] },
    shows: 'encrypted_content',
  },
  { name: 'a call', body: { ...gpt, tools }, shows: 'call_id' },
  {
    name: 'parallel calls',
    body: { ...o3, tools, input: 'look, find, jot' },
    shows: 'response.custom_tool_call_input',
  },
  { name: 'structured output', body: { ...gpt, text }, shows: 'json_schema' },
  { name: 'JSON', body: { ...gpt, input: 'JSON.', text: { format: { type: 'json_object' } } }, shows: 'json_object' },
  {
    name: 'log probabilities',
    body: { ...gpt, include: ['message.output_text.logprobs'], top_logprobs: 3 },
    shows: '"bytes":',
  },
  { name: 'an incomplete answer', body: { ...gpt, max_output_tokens: 16 }, shows: 'response.incomplete' },
  { name: 'a chain', body: gpt, goesOn: true, shows: '"previous_response_id":"resp_' },
  { name: 'a longer chain', body: o3, goesOn: true, shows: '"previous_response_id":"resp_' },
  { name: 'a script', body: { ...gpt, model: 'journey' }, shows: 'call_scripted' },
  { name: 'the end of a script', body: { ...gpt, model: 'journey' }, shows: 'response.output_text.done' },
];

const SEEDED = TURNS.filter(({ body }) => !('model' in body && body.model === 'journey'));

describe('the same seed', () => {
  let folder: string;
  let first: RawTurns;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'simulator-determinism-'));
    const call = { name: 'look', call_id: 'call_scripted', arguments: { place: 'Lisbon' } };
    const script = {
      on_exhausted: 'loop',
      turns: [{ reasoning: 'Hm, let me see.', calls: [call] }, { text: 'It is sunny, ŗ̷ 👋🏽.' }],
    };
    await writeFile(join(folder, 'journey.json'), JSON.stringify(script));
    first = await withFixedService({}, (service) => recordTurns(service, TURNS));
  });

  afterAll(() => rm(folder, { recursive: true }));

  const environmentOf = (more: object): Readonly<Record<string, unknown>> => ({
    SIMULATOR_SEED: 11,
    SIMULATOR_SCRIPTS: join(folder, 'journey.json'),
    ...more,
  });

  /** A service whose ids and times are the same in every run. */
  async function withFixedService<T>(more: object, use: (service: Service) => Promise<T>): Promise<T> {
    const clock = new WatchedClock();
    const overrides = [
      [Clock, clock],
      [IdGenerator, new SequentialIdGenerator()],
    ] as const;
    const service = await startService({ environment: environmentOf(more), overrides });
    try {
      return await use(service);
    } finally {
      clock.letGo();
      await service.close();
    }
  }

  it.each(TURNS.map(({ name, shows }, index) => [name, shows, index] as const))(
    'a seeded run has turns of every kind: %s',
    (_name, shows, index) => {
      for (const texts of [first.sse, first.ws]) {
        expect(texts).toHaveLength(TURNS.length);
        expect(texts[index]).toContain(shows);
        expect(texts[index]?.match(/"sequence_number":/g)?.length).toBeGreaterThan(8);
      }
    },
  );

  it('one seed gives the same bytes in another service, streamed and on a socket', async () => {
    const second = await withFixedService({}, (service) => recordTurns(service, TURNS));
    expect(second.sse).toEqual(first.sse);
    expect(second.ws).toEqual(first.ws);
    expect(second.padded).toEqual(first.padded);
  });

  it('the simulator says the same with one seed where ids and times are others', async () => {
    await using service = await startService({ environment: environmentOf({}) });
    const { sse, ws } = await recordTurns(service, TURNS);
    expect(sse).not.toEqual(first.sse);
    expect(sse.map(withoutIncidentals)).toEqual(first.sse.map(withoutIncidentals));
    expect(ws.map(withoutIncidentals)).toEqual(first.ws.map(withoutIncidentals));
  });

  it('a seed gives the same bytes when it comes with the request', async () => {
    const control = { SIMULATOR_SEED: 5, SIMULATOR_CONTROL: true };
    const metadata = { client_metadata: { 'x-simulate': 'seed=11' } };
    const second = await withFixedService(control, (service) => recordTurns(service, TURNS, metadata));
    expect(second.sse).toEqual(first.sse);
    expect(second.ws).toEqual(first.ws);
  });

  it('another seed gives other turns', async () => {
    const other = await withFixedService({ SIMULATOR_SEED: 12 }, (service) => recordTurns(service, TURNS));
    for (const [index, { name }] of SEEDED.entries()) {
      expect([name, other.sse[index]]).not.toEqual([name, first.sse[index]]);
      expect([name, other.ws[index]]).not.toEqual([name, first.ws[index]]);
    }
    const scripted = ({ sse }: RawTurns): readonly string[] =>
      sse.slice(SEEDED.length).map((bytes) => withoutIncidentals(bytes).replace(/"encrypted_content":"[^"]+"/g, ''));
    expect(scripted(other)).toEqual(scripted(first));
  });

  it('a seed says the same whatever else is being said', async () => {
    await using service = await startService({ environment: environmentOf({}) });
    const chains = SEEDED.filter(({ goesOn }) => goesOn === true);
    const start = SEEDED.findIndex(({ goesOn }) => goesOn === true) - 1;
    const conversations = [
      ...SEEDED.slice(0, start).map((turn) => [turn]),
      SEEDED.slice(start, start + 1 + chains.length),
    ];
    const noise = Array.from({ length: 20 }, (_, n) => [
      { name: 'noise', body: { ...(n % 2 === 0 ? gpt : o3), tools, input: `Noise ${n % 7}` } },
    ]);
    const said = await recordConversations(service, [...noise, ...conversations.toReversed(), ...noise]);
    const own = said.slice(noise.length, -noise.length).toReversed().flat();
    expect(own.map(withoutIncidentals)).toEqual(first.sse.slice(0, SEEDED.length).map(withoutIncidentals));
  });
});

/** Names ids after the order in which they appear, and leaves out times. */
function withoutIncidentals(bytes: string): string {
  const names = new Map<string, string>();
  return bytes
    .replace(/\b[a-z]+_[0-9a-f]{32}\b/g, (id) => {
      const name = names.get(id) ?? `${id.slice(0, id.indexOf('_'))}_${names.size + 1}`;
      names.set(id, name);
      return name;
    })
    .replace(/"(created_at|completed_at)":\d+/g, '"$1":0');
}
