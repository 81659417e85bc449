import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { asTenant, Clock, Random, ResponseStore } from '../../src/index.js';
import { ERROR_FRAMES, type ErrorFrame, type Nonsense } from '../support/chat-upstream/breaks.js';
import type { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { freePort } from '../support/ports.js';
import { textReply } from '../support/chat-upstream/reply.js';
import { saidIn } from '../support/output.js';
import { useService } from '../support/describe-service.js';
import { PausingClock } from '../support/clocks.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { HangUpServer } from '../support/hang-up-server.js';
import { startService } from '../support/service.js';
import { openStream } from '../support/sse.js';
import { SSE_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const FIRST_BYTE_MS = 40_000;
const IDLE_MS = 20_000;
const WORDS = { text: ['One', ' two', ' three'] };
const TURN = { model: 'm', input: 'Go on.' };

type Failure = readonly [how: string, fail: (upstream: ChatUpstream) => unknown];

/** Failures before the first word after which another upstream is asked. */
const FAILURES: readonly Failure[] = [
  ...[500, 501, 502, 503, 504, 520, 529, 408, 429, 401, 402, 403, 404].map((status): Failure => [
    `answers ${status}`,
    (upstream) => upstream.refuse(status),
  ]),
  ['answers 429 for want of quota', (upstream) => upstream.respond(quota())],
  [
    'answers 302',
    (upstream) => upstream.respond(textReply('', '', { status: 302, headers: { location: '/elsewhere' } })),
  ],
  ['answers 204', (upstream) => upstream.respond(textReply('', '', { status: 204 }))],
  ['answers a page', (upstream) => upstream.answerHtml()],
  ['answers an empty page', (upstream) => upstream.respond(textReply('', 'text/html'))],
  ['answers empty JSON', (upstream) => upstream.respond(textReply('', 'application/json'))],
  ['answers JSON that says nothing', (upstream) => upstream.respond(textReply('{}', 'application/json'))],
  ['answers half of a JSON body', (upstream) => upstream.respond(textReply('{"choices":[', 'application/json'))],
  [
    'answers an error with 200',
    (upstream) => upstream.respond(textReply('{"error":{"message":"x"}}', 'application/json')),
  ],
  ['answers an empty stream', (upstream) => upstream.answer({}, { breaks: { after: 0, by: 'end' } })],
  ['hangs up before its first event', (upstream) => upstream.answer({}, { breaks: { after: 0, by: 'cut' } })],
  ['resets before its first event', (upstream) => upstream.answer({}, { breaks: { after: 0, by: 'reset' } })],
  ['ends once it said who speaks', (upstream) => upstream.answer(WORDS, { breaks: { after: 1, by: 'end' } })],
  ['hangs up once it said who speaks', (upstream) => upstream.answer(WORDS, { breaks: { after: 1, by: 'cut' } })],
  ['resets once it said who speaks', (upstream) => upstream.answer(WORDS, { breaks: { after: 1, by: 'reset' } })],
  [
    'hangs up once it has counted the input',
    (upstream) => upstream.answer(WORDS, { usage: 'cumulative', breaks: { after: 1, by: 'cut' } }),
  ],
  [
    'hangs up behind comments',
    (upstream) => upstream.answer(WORDS, { comments: true, emptyChoices: true, breaks: { after: 2, by: 'cut' } }),
  ],
  ['ends without output and without saying so', (upstream) => upstream.answer({}, { finish: false })],
  ['says [DONE] and nothing else', (upstream) => upstream.replay('data: [DONE]\n\n')],
  ...(Object.keys(ERROR_FRAMES) as ErrorFrame[])
    .filter((error) => error !== 'contextLength' && error !== 'invalidImage')
    .flatMap((error): Failure[] => [
      [`begins with an error: ${error}`, (upstream) => upstream.answer({}, { breaks: { after: 0, by: { error } } })],
      [`goes on with an error: ${error}`, (upstream) => upstream.answer({}, { breaks: { after: 1, by: { error } } })],
    ]),
  ...(['invalidJson', 'text', 'number', 'null', 'list'] satisfies Nonsense[]).map((nonsense: Nonsense): Failure => [
    `begins with nonsense: ${nonsense}`,
    (upstream) => upstream.answer({}, { breaks: { after: 0, by: { nonsense } } }),
  ]),
];

function quota(): ReturnType<typeof textReply> {
  const body = '{"error":{"message":"x","type":"insufficient_quota","code":"insufficient_quota"}}';
  return textReply(body, 'application/json', { status: 429 });
}

describe('before its first word, an upstream that', () => {
  const clock = new PausingClock();
  const observer = new RecordingObserver();
  let rude: HangUpServer;

  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService(async () => {
    rude = await HangUpServer.start();
    const timeouts = { first_byte_ms: FIRST_BYTE_MS, idle_ms: IDLE_MS };
    return startRoutedService({
      upstreams: {
        a: { timeouts },
        b: { timeouts },
        c: { timeouts },
        closed: { base_url: `http://127.0.0.1:${await freePort()}/v1` },
        unknown: { base_url: 'http://no-such-host.invalid/v1' },
        rude: { base_url: rude.baseUrl },
      },
      models: [
        { name: 'm', upstreams: ['a', 'b', 'c'].map((provider) => ({ provider, model: `model-of-${provider}` })) },
        { name: 'closed', upstreams: [{ provider: 'closed' }, { provider: 'b' }] },
        { name: 'unknown', upstreams: [{ provider: 'unknown' }, { provider: 'b' }] },
        { name: 'rude', upstreams: [{ provider: 'rude' }, { provider: 'b' }] },
      ],
      environment: { MODEL_ACCEPT_TIMEOUT_MS: 3_600_000, MODEL_IDLE_TIMEOUT_MS: 0, SSE_KEEPALIVE_MS: 100_000 },
      imports: [observer.asModule()],
      overrides: [
        [Clock, clock],
        [Random, new ChosenRandom(0)],
      ],
    });
  });

  beforeEach(() => {
    // Nobody rests any more.
    clock.advance(60_000);
    service.forget();
    observer.records.splice(0);
  });
  afterAll(async () => {
    await rude[Symbol.asyncDispose]();
  });

  it.each(FAILURES)('%s leaves the turn to the next, and the client sees nothing of it', async (_, fail) => {
    fail(service.upstream('a'));
    const { response, events = [] } = await SSE_TRANSPORT.run(service, TURN);
    expect(response).toMatchObject({ status: 'completed', model: 'm', error: null });
    expect(saidIn(response)).toEqual([{ text: 'b' }]);
    expect(events.filter(({ type }) => type === 'response.created')).toHaveLength(1);
    expect(service.asked()).toEqual(['a', 'b']);
    expect(service.upstream('b').requests[0]?.body.model).toBe('model-of-b');
    expect(await observer.whenSettled(1)).toMatchObject([{ provider: 'b', status: 'completed', model: 'm' }]);
  });

  it.each(TRANSPORTS)('an upstream that fails leaves the turn to the next on $name', async (transport) => {
    service.upstream('a').refuse(500);
    const { response } = await transport.run(service, TURN);
    expect(saidIn(response)).toEqual([{ text: 'b' }]);
    expect(service.asked()).toEqual(['a', 'b']);
  });

  it.each(['closed', 'unknown', 'rude'])(
    'an upstream that cannot be spoken to leaves the turn to the next: %s',
    async (model) => {
      const { response } = await SSE_TRANSPORT.run(service, { ...TURN, model });
      expect(saidIn(response)).toEqual([{ text: 'b' }]);
      expect(service.asked()).toEqual(['b']);
      expect(await observer.whenSettled(1)).toMatchObject([{ provider: 'b' }]);
    },
  );

  it('an upstream that fails as the one before it did leaves the turn to the last', async () => {
    service.upstream('a').refuse(500);
    service.upstream('b').answer(WORDS, { breaks: { after: 1, by: 'cut' } });
    const { response } = await SSE_TRANSPORT.run(service, TURN);
    expect(saidIn(response)).toEqual([{ text: 'c' }]);
    expect(service.asked()).toEqual(['a', 'b', 'c']);
    expect(clock.take()).toEqual([]);
  });

  it.each(['ignore', 'answerHeadOnly'] as const)('a silent upstream is given up after its time: %s', async (how) => {
    service.upstream('a')[how]();
    const waiting = clock.whenScheduled(FIRST_BYTE_MS);
    const turn = SSE_TRANSPORT.run(service, TURN);
    await waiting;
    const request = await service.upstream('a').received();
    clock.advance(FIRST_BYTE_MS - 1);
    expect([request.isClosed, service.asked()]).toEqual([false, ['a']]);
    clock.advance(1);
    expect(saidIn((await turn).response)).toEqual([{ text: 'b' }]);
    await request.closed;
    expect(service.asked()).toEqual(['a', 'b']);
  });

  it('an upstream that falls silent once it said who speaks is given up', async () => {
    service.upstream('a').answer(WORDS, { breaks: { after: 1, by: 'stall' } });
    const waiting = clock.whenScheduled(IDLE_MS);
    const turn = SSE_TRANSPORT.run(service, TURN);
    await waiting;
    clock.advance(IDLE_MS);
    expect(saidIn((await turn).response)).toEqual([{ text: 'b' }]);
    expect(service.asked()).toEqual(['a', 'b']);
  });

  it('an upstream is stored as the origin of the answer only if it answered', async () => {
    service.upstream('a').refuse(500);
    const { response } = await SSE_TRANSPORT.run(service, TURN);
    const store = service.app.get<ResponseStore>(ResponseStore);
    const [record] = await observer.whenSettled(1);
    const chain = await store.chain(record?.caller.tenant ?? asTenant(''), response.id);
    expect(chain?.origin).toMatchObject({ provider: 'b' });
  });

  it.each([400, 413, 422, 409, 415, 451])('an upstream that refuses with %i is the last', async (status) => {
    service.upstream('a').refuse(status);
    await expect(SSE_TRANSPORT.run(service, TURN)).rejects.toMatchObject({ status: status === 413 ? 413 : 400 });
    expect(service.asked()).toEqual(['a']);
    expect(await observer.whenSettled(1)).toMatchObject([{ provider: 'a', status: 'refused' }]);
  });

  it('an upstream that finds the conversation too long is the last, even if it says so with 500 or in its stream', async () => {
    const message = "This model's maximum context length is 4096 tokens.";
    const body = JSON.stringify({ error: { message } });
    service.upstream('a').respond(textReply(body, 'application/json', { status: 500 }));
    const refused = { status: 400, body: { error: { code: 'context_length_exceeded' } } };
    await expect(SSE_TRANSPORT.run(service, TURN)).rejects.toMatchObject(refused);
    service.upstream('a').answer({}, { breaks: { after: 0, by: { error: 'contextLength' } } });
    await expect(SSE_TRANSPORT.run(service, TURN)).rejects.toMatchObject(refused);
    expect(service.asked()).toEqual(['a', 'a']);
  });

  it('an upstream that is the second to be asked and finds the request at fault is the last', async () => {
    service.upstream('a').refuse(503);
    service.upstream('b').refuse(400);
    await expect(SSE_TRANSPORT.run(service, TURN)).rejects.toMatchObject({ status: 400 });
    expect(service.asked()).toEqual(['a', 'b']);
  });

  describe('after its first word', () => {
    const BREAKS = [
      'end',
      'cut',
      'reset',
      { error: 'stringCode' },
      { error: 'rateLimit' },
      { nonsense: 'text' },
    ] as const;

    it.each(BREAKS)('a break after its first word fails the response, and nobody else is asked: %j', async (by) => {
      service.upstream('a').answer(WORDS, { breaks: { after: 3, by } });
      const { response } = await SSE_TRANSPORT.run(service, TURN);
      expect(response).toMatchObject({ status: 'failed' });
      expect(saidIn(response)).toEqual([{ text: 'One two' }]);
      expect(service.asked()).toEqual(['a']);
      expect(await observer.whenSettled(1)).toMatchObject([{ provider: 'a', status: 'failed' }]);
    });

    it.each([
      ['of its thoughts', { reasoning: ['Hm', ' hm'], text: 'x' }, [{ reasoning: 'Hm' }]],
      ['of a refusal', { refusal: ['No', ' way'] }, [{ refusal: 'No' }]],
      ['of a call', { toolCalls: [{ name: 'f', arguments: ['{', '}'] }] }, [{ call: 'f', arguments: '' }]],
    ])('%s breaks off fails the response as well', async (_, answer, said) => {
      service.upstream('a').answer(answer, { breaks: { after: 2, by: 'cut' } });
      const tools = [{ type: 'function', name: 'f', parameters: null, strict: null }];
      const { response } = await SSE_TRANSPORT.run(service, { ...TURN, tools });
      expect(response.status).toBe('failed');
      expect(saidIn(response)).toEqual(said);
      expect(service.asked()).toEqual(['a']);
    });

    it.each(TRANSPORTS.filter(({ name }) => name !== 'json'))(
      'a break after its first word fails the response on $name',
      async (transport) => {
        service.upstream('a').answer(WORDS, { breaks: { after: 2, by: 'cut' } });
        expect((await transport.run(service, TURN)).response.status).toBe('failed');
        expect(service.asked()).toEqual(['a']);
      },
    );

    it('the next upstream is asked for a client of JSON, who has seen nothing', async () => {
      service.upstream('a').answer(WORDS, { breaks: { after: 2, by: 'cut' } });
      service.upstream('b').answer(WORDS);
      expect(await service.client().responses.create(TURN)).toMatchObject({ status: 'completed' });
      expect(service.asked()).toEqual(['a', 'b']);
    });

    it('an upstream that says nothing but that it has ended has answered', async () => {
      service.upstream('a').answer({ finish: 'stop' });
      const { response } = await SSE_TRANSPORT.run(service, TURN);
      expect(response).toMatchObject({ status: 'completed', output: [] });
      expect(service.asked()).toEqual(['a']);
    });
  });

  describe('fails like all others', () => {
    const wait = { 'retry-after': '7' };

    it.each<readonly [number, number, number, { status: number; code: string; retryAfter: string | null }]>([
      [500, 502, 504, { status: 500, code: 'server_error', retryAfter: null }],
      [429, 500, 500, { status: 429, code: 'rate_limit_exceeded', retryAfter: '7' }],
      [500, 429, 401, { status: 429, code: 'rate_limit_exceeded', retryAfter: '7' }],
      [401, 404, 429, { status: 429, code: 'rate_limit_exceeded', retryAfter: '7' }],
      [503, 500, 404, { status: 503, code: 'server_is_overloaded', retryAfter: '7' }],
      [401, 403, 503, { status: 503, code: 'server_is_overloaded', retryAfter: '7' }],
      [404, 404, 404, { status: 404, code: 'model_not_found', retryAfter: null }],
      [401, 402, 403, { status: 500, code: 'server_error', retryAfter: null }],
    ])('the client is told what helps it most: %i, %i and %i', async (a, b, c, expected) => {
      service.upstream('a').refuse(a, 'openai', wait);
      service.upstream('b').refuse(b, 'openai', wait);
      service.upstream('c').refuse(c, 'openai', wait);
      const answer = await fetch(`${service.baseURL}/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(TURN),
      });
      const { error } = (await answer.json()) as { readonly error: { readonly code: string } };
      const told = { status: answer.status, code: error.code, retryAfter: answer.headers.get('retry-after') };
      expect(told).toEqual(expected);
      expect(service.asked()).toEqual(['a', 'b', 'c']);
      expect(await observer.whenSettled(1)).toMatchObject([{ status: 'refused', errorCode: expected.code }]);
    });

    it.each(TRANSPORTS)('the turn is refused on $name', async (transport) => {
      for (const name of ['a', 'b', 'c']) service.upstream(name).refuse(500);
      await expect(transport.run(service, TURN)).rejects.toMatchObject({
        status: 500,
        // Clients on sockets know it under another name.
        body: { error: { type: 'server_error', code: transport.name === 'ws' ? 'processing_error' : 'server_error' } },
      });
    });

    it('the response fails where it has begun', async () => {
      for (const name of ['a', 'b', 'c']) service.upstream(name).refuse(500);
      service.upstream('a').hold();
      const environment = { MODEL_ACCEPT_TIMEOUT_MS: 0, PROVIDERS_FILE: service.providersFile };
      await using late = await startService({ environment, overrides: [[Random, new ChosenRandom(0)]] });
      const answer = await openStream(`${late.baseURL}/responses`, TURN);
      if (!answer.streams) throw new Error('refused');
      const { value: first } = await answer.events.next();
      expect(first).toMatchObject({ type: 'response.created' });
      service.upstream('a').release();
      const events = await Array.fromAsync(answer.events);
      expect(events.at(-1)).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'server_error' } },
      });
    });
  });
});
