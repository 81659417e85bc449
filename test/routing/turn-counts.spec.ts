import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock } from '../../src/testing/index.js';
import type { ApiClient } from '../support/api-client.js';
import { TRIGGER } from '../support/compaction.js';
import { CountingUpstream, type CountCall, type CountReply } from './counting-upstream.js';
import { useProvidersFile } from '../support/providers-file.js';

/** A message of so many words, each one token of the estimate. */
const words = (name: string, count: number): string => `${name}${' word'.repeat(count - 1)}`;

const said = (content: string): CountReply => ({
  body: { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] },
});

const ROUNDS = ['one', 'two', 'three', 'four'].flatMap((name) => [
  { role: 'user', content: words(name, 50) },
  { role: 'assistant', content: 'ok' },
]);
/** About 240 tokens by the estimate. */
const INPUT = [...ROUNDS, { role: 'user', content: 'end' }];
const COUNTED = 'tokenized';

const clock = new FakeClock();
const { service, load } = useProvidersFile('providers.json', { overrides: [[Clock, clock]] });
let upstream: CountingUpstream;

beforeEach(async () => {
  upstream = await CountingUpstream.start();
});

afterEach(() => upstream.close());

/** Puts the service in front of the upstream, whose model has a window of so many tokens. */
async function start(entry: object, contextWindow: number): Promise<ApiClient> {
  const provider = { base_url: `${upstream.origin}/v1`, discover: false, retries: 0, ...entry };
  const models = [{ name: COUNTED, provider: 'p', model: 'theirs', context_window: contextWindow }];
  await load({ providers: { p: provider }, models });
  return service.api;
}

const create = (api: ApiClient, over: object = {}): ReturnType<ApiClient['post']> =>
  api.post('responses', { model: COUNTED, truncation: 'auto', input: INPUT, ...over });

const isTurn = ({ path }: CountCall): boolean => path === '/v1/chat/completions';

/** The first words of the messages of a call. */
const namesIn = (call: CountCall | undefined): readonly string[] =>
  (call?.body['messages'] as readonly { readonly content: string }[]).map(({ content }) => content.split(' ')[0] ?? '');

const ALL = ['one', 'ok', 'two', 'ok', 'three', 'ok', 'four', 'ok', 'end'];

describe.each([
  { dialect: 'vllm', path: '/tokenize', toAnswer: (count: number) => ({ count, tokens: [] }) },
  {
    dialect: 'llama.cpp',
    path: '/v1/chat/completions/input_tokens',
    toAnswer: (count: number) => ({ object: 'response.input_tokens', input_tokens: count }),
  },
])('a turn before an upstream of dialect $dialect', ({ dialect, path, toAnswer }) => {
  const counts = (): readonly CountCall[] => upstream.calls.filter((call) => call.path === path);
  const counted = (count: number): CountReply => ({ body: toAnswer(count) });
  const asked = (): CountCall | undefined => upstream.calls.findLast(isTurn);

  it('a turn loses what is oldest as its tokenizer counts, which is asked once', async () => {
    upstream.replies = [counted(960), said('ok')];
    // By the estimate all of it would fit.
    expect(await create(await start({ dialect }, 800))).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(counts()).toHaveLength(1);
    expect(namesIn(counts()[0])).toEqual(ALL);
    const left = namesIn(asked());
    expect(left).toEqual(ALL.slice(-left.length));
    // Half of the window is for the answer: 400 of 960 tokens.
    expect(left).toEqual(['four', 'ok', 'end']);
  });

  it('a turn keeps all that its tokenizer takes for short enough', async () => {
    upstream.replies = [counted(180), said('ok')];
    await create(await start({ dialect }, 200));
    expect(namesIn(asked())).toEqual(ALL);
    expect(counts()).toHaveLength(1);
  });

  it('a turn asks about the latest part of a context that is much too long', async () => {
    const long = Array.from({ length: 40 }, (_, round) => ({ role: 'user', content: words(`r${round}`, 50) }));
    upstream.replies = [counted(400), said('ok')];
    await create(await start({ dialect }, 200), { input: long });
    expect(namesIn(counts()[0]).at(-1)).toBe('r39');
    expect(namesIn(counts()[0]).length).toBeLessThan(20);
    expect(namesIn(asked()).at(-1)).toBe('r39');
  });

  it.each<[name: string, reply: CountReply]>([
    ['fails', { status: 500, body: {} }],
    ['is missing', { status: 404, body: { detail: 'Not Found' } }],
    ['gives no number', { body: 'nonsense' }],
  ])('a turn is estimated where its tokenizer %s', async (_, reply) => {
    upstream.replies = [reply, said('ok')];
    expect(await create(await start({ dialect }, 200))).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(namesIn(asked())).toEqual(['four', 'ok', 'end']);
  });

  it('a turn is estimated where its tokenizer says nothing for five seconds', async () => {
    upstream.replies = ['hang', said('ok')];
    const answering = create(await start({ dialect }, 200));
    await upstream.asked.promise;
    clock.advance(5000);
    expect(await answering).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(namesIn(asked())).toEqual(['four', 'ok', 'end']);
  });

  it('a turn asks for no count where its context certainly fits, or must not be truncated', async () => {
    upstream.replies = [said('ok')];
    const api = await start({ dialect }, 4000);
    await create(api);
    await create(api, { input: words('long', 500), truncation: 'disabled' });
    expect(upstream.calls.map(isTurn)).toEqual([true, true]);
  });

  it('a turn is compacted beyond the threshold by the same count', async () => {
    upstream.replies = [counted(2400), said('SUMMARY'), said('ok')];
    const api = await start({ dialect }, 100_000);
    const managed = { truncation: 'disabled', context_management: [{ type: 'compaction', compact_threshold: 1600 }] };
    const { body } = await create(api, managed);
    expect((body['output'] as readonly { readonly type: string }[]).map(({ type }) => type)).toEqual([
      'compaction',
      'message',
    ]);
    expect(counts()).toHaveLength(1);
    expect(upstream.calls.filter(isTurn)).toHaveLength(2);
  });

  it('a turn is counted once, whatever its passes, where an item changes its settings', async () => {
    upstream.replies = [counted(1040), said('SUMMARY'), said('ok')];
    // What is kept has more bytes than the window has tokens, so that the second pass counts as well.
    const api = await start({ dialect }, 1300);
    const update = { type: 'configuration_update', reasoning: { effort: 'low' } };
    const old = [
      { role: 'user', content: words('old', 1500) },
      { role: 'assistant', content: 'ok' },
    ];
    const managed = { truncation: 'disabled', context_management: [{ type: 'compaction', compact_threshold: 1000 }] };
    const { body } = await create(api, { input: [update, ...old, ...INPUT], ...managed });
    expect(body).toMatchObject({ output: [{ type: 'compaction' }, { type: 'message' }] });
    expect(counts()).toHaveLength(1);
  });

  it('a turn is summarised in parts that its model can read, by the same count', async () => {
    const input = [...ROUNDS, ...ROUNDS, ...ROUNDS, { role: 'user', content: 'end' }, TRIGGER];
    // Twice the estimate, by which all of it would fit.
    upstream.replies = [counted(1400), said('SUMMARY')];
    const { body } = await create(await start({ dialect }, 1200), { input, truncation: 'disabled' });
    expect(body).toMatchObject({ output: [{ type: 'compaction' }] });
    expect(counts()).toHaveLength(1);
    const sizes = upstream.calls.filter(isTurn).map(({ body }) => JSON.stringify(body['messages']).split(' ').length);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes) * 2).toBeLessThan(1200);
  });

  it('a turn is not compacted where it only seems to be longer', async () => {
    upstream.replies = [counted(1100), said('ok')];
    const api = await start({ dialect }, 100_000);
    const input = [{ role: 'user', content: words('old', 1500) }, { role: 'assistant', content: 'ok' }, ...INPUT];
    const managed = { truncation: 'disabled', context_management: [{ type: 'compaction', compact_threshold: 1200 }] };
    const { body } = await create(api, { input, ...managed });
    expect((body['output'] as readonly { readonly type: string }[]).map(({ type }) => type)).toEqual(['message']);
    expect(upstream.calls.map(isTurn)).toEqual([false, true]);
  });
});
