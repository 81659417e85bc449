import { beforeEach, describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { ModelError } from '../../src/index.js';
import { ConversationStore } from '../../src/state/index.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { BACKGROUND_TRANSPORT } from '../support/background.js';
import { BackgroundLog } from '../support/background-attempts.js';
import { EARLY, longText, say, seenIn, SmallProvider } from '../support/compaction.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { runTools, TestPolicy } from '../support/test-policy.js';
import type { WireResponse } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

const policy = new TestPolicy();
const service = useService({ providers: [ScriptedProvider], imports: [policy.asModule()] });

beforeEach(() => {
  policy.follow = () => undefined;
  service.provider.turns.length = 0;
});

/** A history beyond the threshold, in which the first message is beyond what is kept. */
const LONG = [
  { role: 'user', content: longText('first', 1500) },
  { role: 'assistant', content: 'answer' },
  { role: 'user', content: 'second question' },
  { role: 'assistant', content: 'more' },
];
const NEW = { role: 'user', content: longText('third', 700) };

const WEATHER = { type: 'function_call', name: 'weather', callId: 'call_1' } as const;
const WEATHER_TOOLS = [{ type: 'function', name: 'weather', parameters: {} }];

const typesOf = ({ output }: WireResponse): readonly string[] =>
  (output as readonly { readonly type: string }[]).map(({ type }) => type);

describe.each([...TRANSPORTS, BACKGROUND_TRANSPORT])(
  'protocol §6.11: a context beyond the threshold, over $name',
  (transport) => {
    it('a context beyond the threshold is compacted within the turn, which goes on', async () => {
      service.provider.reply(...say('SUMMARY', 2000, 20)).reply(...say('Done.', 800, 5));
      const body = { model: 'm', input: [...LONG, NEW], context_management: EARLY };
      const { response, events } = await transport.run(service, body);
      expect(typesOf(response)).toEqual(['compaction', 'message']);
      expect(response).toMatchObject({ status: 'completed', usage: { input_tokens: 2800, output_tokens: 25 } });
      expect(response).not.toHaveProperty('context_management');
      expect(events?.slice(2, 6).map(({ type }) => type) ?? []).toEqual(
        events === undefined
          ? []
          : [
              'response.output_item.added',
              'response.compaction.compacting',
              'response.output_item.done',
              'response.output_item.added',
            ],
      );
      const next = { model: 'm', input: 'fourth', previous_response_id: response.id };
      await transport.run(service, next);
      expect(service.provider.turns.map(seenIn)).toEqual([
        ['user first', 'assistant answer', 'user second', 'assistant more'],
        ['user second', 'assistant [SUMMARY]', 'user third'],
        ['user second', 'assistant [SUMMARY]', 'user third', 'assistant Done.', 'user fourth'],
      ]);
    });

    it('a turn goes on with the context as it is when the summary fails', async () => {
      service.provider.reply({ type: 'text', delta: ' ' }).reply(...say('Done.'));
      const body = { model: 'm', input: [...LONG, NEW], context_management: EARLY };
      const { response, events = [] } = await transport.run(service, body);
      expect(response).toMatchObject({ status: 'completed' });
      expect(typesOf(response)).toEqual(['message']);
      expect(events.filter(({ type }) => type === 'response.output_item.done').length).toBeLessThan(2);
      const whole = ['user first', 'assistant answer', 'user second', 'assistant more', 'user third'];
      expect(service.provider.turns.map(seenIn)[1]).toEqual(whole);
    });
  },
);

describe('context_management', () => {
  it.each([
    ['below the threshold', [{ role: 'user', content: 'short' }], EARLY],
    ['below the default threshold', [...LONG, NEW], [{ type: 'compaction' }]],
    ['if all of it is new', [{ role: 'user', content: longText('new', 1500) }], EARLY],
    ['if what stays is beyond the threshold', [...LONG, { role: 'user', content: longText('new', 1200) }], EARLY],
    ['if all of it would be kept', [{ role: 'user', content: longText('a', 400) }, NEW], EARLY],
  ])('context_management leaves a context as it is %s', async (_, input, context_management) => {
    const response = await service.api.create({ input, context_management });
    expect(typesOf(response)).toEqual(['message']);
    expect(service.provider.turns).toHaveLength(1);
  });

  it.each([
    [[{ type: 'magic' }], 'context_management[0].type', 'invalid_value'],
    [
      [{ type: 'compaction', compact_threshold: 999 }],
      'context_management[0].compact_threshold',
      'integer_below_min_value',
    ],
    [[{}], 'context_management[0].type', 'missing_required_parameter'],
    [[{ type: 'compaction', compact_treshold: 2000 }], 'context_management[0].compact_treshold', 'unknown_parameter'],
  ])('context_management is checked: %j', async (context_management, param, code) => {
    const { status, body } = await service.api.post('responses', { model: 'm', input: 'x', context_management });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { param, code } });
  });

  it('context_management keeps the calls that the new outputs answer, and the reasoning before them', async () => {
    service.provider.reply(
      { type: 'reasoning', delta: 'Hm.' },
      { type: 'function_call', name: 'f', callId: 'call_1' },
      ...say(''),
    );
    const first = await service.api.create({ input: LONG, tools: [{ type: 'function', name: 'f', parameters: {} }] });
    service.provider.turns.length = 0;
    service.provider.reply(...say('SUMMARY')).reply(...say('Done.'));
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'x' };
    await service.api.create({ input: [output], previous_response_id: first.id, context_management: EARLY });
    expect(service.provider.turns.map(seenIn)[1]).toEqual([
      'user second',
      'assistant [SUMMARY]',
      'reasoning Hm.',
      'function_call call_1',
      'function_call_output call_1',
    ]);
  });

  it('context_management compacts between the passes of a turn', async () => {
    policy.follow = () => runTools('weather');
    service.provider
      .reply(
        { type: 'text', delta: longText('Let', 1200) },
        { type: 'function_call', name: 'weather', callId: 'call_1' },
      )
      .reply(...say('SUMMARY'))
      .reply(...say('Done.'));
    const tools = [{ type: 'function', name: 'weather', parameters: {} }];
    const response = await service.api.create({ input: 'How is it?', tools, context_management: EARLY });
    expect(typesOf(response)).toEqual(['message', 'function_call', 'compaction', 'message']);
    expect(service.provider.turns.slice(1).map(seenIn)).toEqual([
      ['user How', 'assistant Let'],
      ['user How', 'assistant [SUMMARY]', 'function_call call_1', 'function_call_output call_1'],
    ]);
  });

  it('context_management keeps the question of the turn, without its middle if it is too long', async () => {
    policy.follow = () => runTools('weather');
    service.provider.reply({ type: 'text', delta: longText('Let', 1200) }, WEATHER).reply(...say('SUMMARY'));
    const response = await service.api.create({
      input: longText('How', 600),
      tools: WEATHER_TOOLS,
      context_management: EARLY,
    });
    expect(typesOf(response)).toEqual(['message', 'function_call', 'compaction', 'message']);
    const seen = service.provider.turns.at(-1);
    expect(seen && seenIn(seen).slice(0, 2)).toEqual(['user How', 'assistant [SUMMARY]']);
    expect(JSON.stringify(seen?.context[0])).toMatch(/\\n\[… \d+ characters are left out here …\]\\n/);
  });

  it('context_management keeps earlier messages that fit behind one that does not', async () => {
    service.provider.reply(...say('SUMMARY'));
    const input = [{ role: 'user', content: 'early' }, { role: 'assistant', content: 'x' }, ...LONG, NEW];
    await service.api.create({ input, context_management: EARLY });
    expect(service.provider.turns.map(seenIn)[1]).toEqual([
      'user early',
      'user second',
      'assistant [SUMMARY]',
      'user third',
    ]);
    expect(service.provider.turns[0]?.settings.max_output_tokens).toBe(250);
  });

  it('context_management does not take a summary that is longer than what it stands for', async () => {
    service.provider.reply(...say(longText('long', 120))).reply(...say('Done.'));
    const input = [
      { role: 'user', content: longText('first', 440) },
      { role: 'assistant', content: longText('answer', 80) },
      { role: 'user', content: longText('second', 510) },
    ];
    expect(typesOf(await service.api.create({ input, context_management: EARLY }))).toEqual(['message']);
    expect(service.provider.turns.map(({ purpose }) => purpose)).toEqual(['summary', undefined]);
  });

  it('context_management asks for one summary only, if it fails', async () => {
    policy.follow = () => runTools('weather');
    service.provider
      .reply({ type: 'text', delta: ' ' })
      .reply(WEATHER)
      .reply(...say('Done.'));
    const body = { input: [...LONG, NEW], tools: WEATHER_TOOLS, context_management: EARLY };
    expect(typesOf(await service.api.create(body))).toEqual(['function_call', 'message']);
    expect(service.provider.turns.map(({ purpose }) => purpose)).toEqual(['summary', undefined, undefined]);
  });

  it('context_management refuses a request that its model refuses', async () => {
    const refuse = (): never => {
      throw new ModelError('rate_limit_exceeded', 'Too many requests.', { status: 429 });
    };
    service.provider.play(refuse).play(refuse);
    const body = { model: 'm', input: [...LONG, NEW], context_management: EARLY };
    expect((await service.api.post('responses', body)).status).toBe(429);
  });

  it('context_management compacts a conversation, which has the item', async () => {
    const store = service.app.get(ConversationStore, { strict: false });
    await store.create(asTenant('anybody'), { id: 'conv_1', createdAt: 1, metadata: {} }, []);
    const conversation = 'conv_1';
    await service.api.create({ input: LONG, conversation });
    service.provider.turns.length = 0;
    service.provider.reply(...say('SUMMARY')).reply(...say('Done.'));
    await service.api.create({ input: [NEW], conversation, context_management: EARLY });
    await service.api.create({ input: 'fourth', conversation });
    expect(service.provider.turns.slice(1).map(seenIn)).toEqual([
      ['user second', 'assistant [SUMMARY]', 'user third'],
      ['user second', 'assistant [SUMMARY]', 'user third', 'assistant Done.', 'user fourth'],
    ]);
  });

  it('context_management goes on from what a socket remembers', async () => {
    await using client = await SocketClient.open(service);
    const shape = { model: 'm', store: false, context_management: EARLY };
    service.provider.reply(...say('SUMMARY')).reply(...say('Done.'));
    const first = await client.turn({ ...shape, input: [...LONG, NEW] });
    await client.turn({ ...shape, input: 'on', previous_response_id: first.response.id });
    const seen = service.provider.turns.at(-1);
    expect(seen && seenIn(seen)).toEqual([
      'user second',
      'assistant [SUMMARY]',
      'user third',
      'assistant Done.',
      'user on',
    ]);
  });

  it.each([
    ['repeats an unfinished compaction', 'usage', ['SUMMARY', 'AGAIN', 'Done.'], 'AGAIN'],
    ['goes on behind a finished one', 'given', ['SUMMARY', 'Done.'], 'SUMMARY'],
  ])('%s after the process of a background turn died', async (_, last, texts, summary) => {
    const [first = '', ...later] = texts;
    service.provider.reply(...say(first)).reply(...say('Lost.'));
    const request = { input: [...LONG, NEW] as never, context_management: EARLY as never };
    const before = (await BackgroundLog.queue(service, request).run()).upTo(last);
    service.provider.turns.length = 0;
    for (const text of later) service.provider.reply(...say(text));
    const after = await before.run();
    checkEventOrder(after.wire, { transport: 'ws' });
    expect(after.response.output.map(({ type }) => type)).toEqual(['compaction', 'message']);
    expect(service.provider.turns.map(({ purpose }) => purpose ?? 'answer')).toEqual(
      later.map((text) => (text === 'Done.' ? 'answer' : 'summary')),
    );
    const seen = service.provider.turns.at(-1);
    expect(seen && seenIn(seen)).toEqual(['user second', `assistant [${summary}]`, 'user third']);
  });
});

describe('a model with a small window', () => {
  const small = useService({ providers: [SmallProvider] });
  const provider = (): ScriptedProvider => small.app.get(SmallProvider);

  beforeEach(() => void (provider().turns.length = 0));

  it.each(['auto', 'disabled'])(
    'a context beyond a small window is compacted, with truncation %s',
    async (truncation) => {
      provider()
        .reply(...say('ONE'))
        .reply(...say('TWO'))
        .reply(...say('Done.'));
      const input = [
        { role: 'user', content: longText('big', 2500) },
        { role: 'assistant', content: longText('more', 2000) },
        NEW,
      ];
      const body = { model: 'm', input, context_management: [{ type: 'compaction' }], truncation };
      const { status, body: response } = await new_(body);
      expect({ status, response }).toMatchObject({ status: 200, response: { status: 'completed' } });
      expect(provider().turns.map(seenIn)).toEqual([
        ['user big'],
        ['assistant [ONE]', 'assistant more'],
        ['assistant [TWO]', 'user third'],
      ]);
    },
  );

  it('a model with a small window reads items that are beyond it in pieces', async () => {
    provider().otherwise(async function* () {
      yield say('PART');
    });
    const input = [{ role: 'user', content: longText('big', 9000) }, { type: 'compaction_trigger' }];
    const { body: response } = await new_({ model: 'm', input });
    expect(response).toMatchObject({ status: 'completed' });
    const words = provider().turns.flatMap(({ context }) => JSON.stringify(context).match(/\bword\b/g) ?? []);
    expect(provider().turns.length).toBeGreaterThan(3);
    expect(words.length).toBeGreaterThan(8900);
  });

  it('a model with a small window is refused what would not fit even when compacted', async () => {
    const input = [
      { role: 'assistant', content: 'x' },
      { role: 'user', content: longText('big', 5000) },
    ];
    for (const some of [input, input.slice(1)]) {
      const { status, body } = await new_({ model: 'm', input: some, context_management: [{ type: 'compaction' }] });
      expect([status, body]).toMatchObject([400, { error: { code: 'context_length_exceeded' } }]);
    }
    expect(provider().turns).toHaveLength(0);
  });

  it('a turn fails when the summary fails of what is beyond a small window', async () => {
    provider().reply({ type: 'text', delta: ' ' });
    const input = [{ role: 'assistant', content: longText('big', 5000) }, NEW];
    const { body } = await new_({ model: 'm', input, context_management: [{ type: 'compaction' }] });
    expect(body).toMatchObject({ status: 'failed', output: [], error: { code: 'server_error' } });
  });

  const new_ = (body: object) => small.api.post('responses', body);
});
