import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import type { ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useFreshService } from '../support/describe-service.js';
import { SHARED_STATES, startReplicas } from '../support/state-backends.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

const LIMIT = 10_000;
/** About two thousand tokens. */
const LONG = 'Antiphon answers. '.repeat(450);

/** What the model of a turn with the long parent reports. */
function answerOf(input: number, output: number): readonly ModelEvent[] {
  return [
    { type: 'text', delta: 'Hi' },
    { type: 'usage', input, output },
    { type: 'finish', reason: 'stop' },
  ];
}

type Body = Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>;

function create(service: Service, body: Body = {}): Promise<Response> {
  return service
    .client()
    .responses.create({ model: 'scripted', input: 'hi', ...body })
    .asResponse();
}

async function left(answer: Promise<Response>): Promise<number> {
  return Number((await answer).headers.get('x-ratelimit-remaining-tokens'));
}

const ENVIRONMENT = { LIMIT_TOKENS_PER_MINUTE: LIMIT, LIMIT_OUTPUT_RESERVE: 500 };

describe('a turn reserves', () => {
  const service = useFreshService({ providers: [ScriptedProvider], environment: ENVIRONMENT });

  it('a turn reserves its output: LIMIT_OUTPUT_RESERVE, or what its request bounds', async () => {
    service.provider.reply(...answerOf(1, 0)).reply(...answerOf(1, 0));
    const reserve = await left(create(service));
    expect(reserve).toBeLessThanOrEqual(LIMIT - 500);
    // The one before has used one token.
    expect(await left(create(service, { max_output_tokens: 3000 }))).toBe(reserve - 1 - 3000 + 500);
  });

  it.each(['previous_response_id', 'conversation'] as const)('the whole context of its %s', async (member) => {
    service.provider
      .reply(...answerOf(1, 0))
      .reply(...answerOf(1, 0))
      .reply(...answerOf(1, 0));
    const conversation = await service.client().conversations.create();
    const named = member === 'conversation' ? { conversation: conversation.id } : {};
    const parent = (await (await create(service, { input: LONG, ...named })).json()) as OpenAI.Responses.Response;
    const alone = await left(create(service));
    const continued = member === 'conversation' ? named : { previous_response_id: parent.id };
    const less = alone - (await left(create(service, continued)));
    expect(less).toBeGreaterThan(1500);
    expect(less).toBeLessThan(4000);
  });

  it('the whole context of a turn in the background, when it is created', async () => {
    service.provider.reply(...answerOf(1, 0));
    const parent = (await (await create(service, { input: LONG })).json()) as OpenAI.Responses.Response;
    const held = new HeldTurns(service.provider).hold(1);
    const before = await left(create(service, { background: true }));
    const after = await left(create(service, { background: true, previous_response_id: parent.id }));
    expect(before - after).toBeGreaterThan(1500);
    held.letGo('hi');
  });

  it('no more than the limit where its request does not bound the output', async () => {
    expect(await left(create(service, { input: 'x'.repeat(38_500) }))).toBe(0);
  });

  it('nothing when max_output_tokens is more than the limit: it is refused for good', async () => {
    await expect(create(service, { max_output_tokens: LIMIT })).rejects.toMatchObject({
      status: 429,
      message: expect.stringContaining('The input or max_output_tokens must be smaller'),
    });
    expect(service.provider.turns).toEqual([]);
  });

  it('what it has, and gives it back when its context is refused', async () => {
    service.provider.reply(...answerOf(1, 0));
    const parent = (await (await create(service, { input: LONG })).json()) as OpenAI.Responses.Response;
    const held = new HeldTurns(service.provider).hold(1);
    const running = create(service, { input: 'running', max_output_tokens: 9000 });
    await held.whenBegun(1);
    const refused = create(service, { previous_response_id: parent.id, max_output_tokens: 100 });
    await expect(refused).rejects.toMatchObject({ status: 429, message: expect.stringContaining('tokens per minute') });
    expect(await left(create(service, { max_output_tokens: 100 }))).toBeGreaterThan(700);
    held.letGo('running', ...answerOf(1, 0));
    await running;
  });

  it('a turn reserves tokens and tells on a socket what is left', async () => {
    await using client = await SocketClient.open(service);
    client.create({ input: LONG });
    const { response } = await client.finish();
    client.create({ input: 'hi', previous_response_id: response['id'] });
    const frames = [];
    do frames.push(await client.next());
    while (frames.at(-1)?.type !== 'response.completed');
    const told = frames.find(({ type }) => type === 'response.metadata')?.['headers'] as Record<string, string>;
    expect(Number(told['x-ratelimit-remaining-tokens'])).toBeLessThan(LIMIT - 500 - 1500);
  });
});

describe('what a turn uses beyond its reserve', () => {
  const service = useFreshService({ providers: [ScriptedProvider], environment: ENVIRONMENT });

  it('what a turn uses beyond its reserve is a debt: turns are refused with the time when it is paid', async () => {
    service.provider.reply(...answerOf(10, 3 * LIMIT));
    await create(service);
    const error = await create(service).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 429 });
    const wait = Number((error as { readonly headers: Headers }).headers.get('retry-after'));
    // This minute, and the two that the debt takes whole.
    expect(wait).toBeGreaterThan(2 * 60);
    expect(wait).toBeLessThanOrEqual(3 * 60);
  });
});

describe('twenty continuations of a long parent at once', () => {
  /** The tokens that all of them have used, the parent included, with 429 for those that would exceed the limit. */
  const use = async (services: readonly Service[]): Promise<number> => {
    for (const { app } of services) {
      // What the model reads and writes.
      app.get(ScriptedProvider).otherwise(async function* () {
        yield answerOf(2100, 100);
      });
    }
    const [first, last] = [services.at(0), services.at(-1)] as [Service, Service];
    const parent = (await (await create(first, { input: LONG, max_output_tokens: 100 })).json()) as { id: string };
    const body = { previous_response_id: parent.id, max_output_tokens: 100 };
    const statuses = await Promise.all(
      Array.from({ length: 20 }, (_, turn) =>
        create(turn % 2 === 0 ? first : last, body).then(
          ({ status }) => status,
          (error: unknown) => (error as { readonly status: number }).status,
        ),
      ),
    );
    const answered = statuses.filter((status) => status === 200);
    expect(answered.length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20 - answered.length);
    return 2200 * (1 + answered.length);
  };

  it('twenty continuations of a long parent at once use no more than the limit on one replica', async () => {
    await using service = await startService({ providers: [ScriptedProvider], environment: ENVIRONMENT });
    expect(await use([service])).toBeLessThanOrEqual(LIMIT);
  });

  it.each(SHARED_STATES)(
    'twenty continuations of a long parent at once use no more than the limit on two replicas with $state',
    async ({ open }) => {
      const options = { providers: [ScriptedProvider], environment: ENVIRONMENT };
      await using replicas = await startReplicas(options, options, open);
      expect(await use([replicas.one, replicas.two])).toBeLessThanOrEqual(LIMIT);
    },
  );
});
