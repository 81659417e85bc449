import { describe, expect, it } from '@jest/globals';

import { useFreshService } from '../support/describe-service.js';
import { functionCall, message } from '../support/responses-upstream/items.js';
import { answering, cutting, preceded, type Responder, streaming } from '../support/responses-upstream/reply.js';
import {
  ask,
  MODEL,
  type ResponsesServiceOptions,
  shareResponsesService,
  startResponsesService,
} from '../support/responses-upstream/start-responses-service.js';
import { toEvents } from '../support/responses-upstream/to-events.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream } from '../support/sse.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

// Each test has it load what it needs.
const load = shareResponsesService();

const LIMITS = {
  'x-codex-primary-used-percent': '42.5',
  'x-codex-primary-window-minutes': '300',
  'x-codex-primary-reset-at': '1900000000',
  'x-codex-credits-has-credits': 'true',
  'x-ratelimit-limit-requests': '100',
  'x-ratelimit-remaining-requests': '99',
};

const METADATA = { ...LIMITS, 'x-models-etag': 'W/"7"', 'x-reasoning-included': 'true' };

const URL_OF = ({ baseURL }: { readonly baseURL: string }): string => `${baseURL}/responses`;

describe('§3.1 what the headers of an SSE answer say', () => {
  const service = useFreshService(() => load());

  it('what the headers of an SSE answer say reaches the client in its own headers, before any event', async () => {
    const { upstream } = service;
    const held = Promise.withResolvers<undefined>();
    upstream.respond(({ responseId }) => {
      const events = toEvents(responseId, [message('Hello')]);
      return streaming([...events.slice(0, 4), { until: held.promise }, ...events.slice(4)], { headers: METADATA });
    });
    // The answer is still held where its headers are read.
    const answer = await openStream(URL_OF(service), { model: MODEL, input: 'Hi' });
    expect(Object.fromEntries(answer.headers)).toMatchObject(METADATA);
    held.resolve(undefined);
    if (answer.streams) for await (const event of answer.events) expect(event.type).toBeDefined();
  });

  it('what the headers of an SSE answer say reaches JSON clients too', async () => {
    service.upstream.answer([message('Hello')], { headers: METADATA });
    const { headers } = await service.api.post('responses', { model: MODEL, input: 'Hi' });
    expect(Object.fromEntries(headers)).toMatchObject(METADATA);
  });

  it('the headers of an SSE answer do not name the model of the upstream, which clients would take for a warning', async () => {
    service.upstream.answer([message('Hello')], { headers: { 'openai-model': 'upstream-model' } });
    const { headers } = await service.api.post('responses', { model: MODEL, input: 'Hi' });
    expect(headers.get('openai-model')).toBeNull();
  });

  it('the headers of an SSE answer are of the attempt that answered', async () => {
    service.upstream
      .answer([], { terminal: 'response.failed', headers: { 'x-models-etag': 'first' } })
      .answer([message('Hello')], { headers: { 'x-models-etag': 'second' } });
    const { headers } = await service.api.post('responses', { model: MODEL, input: 'Hi' });
    expect(headers.get('x-models-etag')).toBe('second');
  });
});

describe('§4.2 what the handshake of a socket says', () => {
  const service = useFreshService(() => load({ entry: { supports_websockets: true } }));

  it('what the handshake of a socket says reaches the client of every turn on the socket, before any event', async () => {
    service.upstream.onEveryUpgrade({ 'x-reasoning-included': 'true' });
    for (let turn = 0; turn < 2; turn += 1) {
      const { headers } = await service.api.post('responses', { model: MODEL, input: 'Hi', prompt_cache_key: 'one' });
      expect(headers.get('x-reasoning-included')).toBe('true');
    }
    expect(service.upstream.upgrades).toHaveLength(1);
  });

  it('the handshake of a socket is told in events too, of which those with headers reach clients that have not begun to read', async () => {
    const etag = { type: 'codex.response.metadata', headers: { 'x-models-etag': 'W/"8"' } };
    service.upstream.respond(({ responseId }) => streaming([etag, ...toEvents(responseId, [message('Hello')])]));
    const { headers } = await service.api.post('responses', { model: MODEL, input: 'Hi' });
    expect(headers.get('x-models-etag')).toBe('W/"8"');
  });

  it('the handshake of a socket is told in events that socket clients get as they are', async () => {
    const limits = { type: 'codex.rate_limits', rate_limits: { primary: { used_percent: 42 }, secondary: null } };
    service.upstream.respond(({ responseId }) => {
      const [created, ...rest] = toEvents(responseId, [message('Hello')]);
      return streaming([...(created === undefined ? [] : [created]), limits, ...rest]);
    });
    await using client = await SocketClient.open(service);
    client.create({ model: MODEL, input: 'Hi' });
    const types: string[] = [];
    for (;;) {
      const event = await client.next();
      types.push(event.type);
      if (event.type === limits.type) expect(event).toEqual(limits);
      if (event.type === 'response.completed') break;
    }
    expect(types).toContain('codex.rate_limits');
  });
});

const TOOL = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} }, strict: false };

/** A service whose turns have a second pass when the model calls the tool `weather`. */
async function startWithTool(options: ResponsesServiceOptions): ReturnType<typeof startResponsesService> {
  const policy = new TestPolicy();
  policy.follow = () => runTools('weather');
  return startResponsesService({ ...options, imports: [policy.asModule()] });
}

describe('§3.1 the state of a turn over SSE', () => {
  const service = useFreshService(() => startWithTool({}));

  const stateOf = (position: number): unknown => service.upstream.calls[position]?.headers['x-codex-turn-state'];

  it('the state of a turn goes back to the upstream within the turn, and no further', async () => {
    const state = { 'x-codex-turn-state': 'state-of-one' };
    service.upstream.answer([functionCall('weather')], { headers: state });
    const first = await ask(service, { tools: [TOOL] });
    await ask(service, { previous_response_id: first.response.id });
    expect([0, 1, 2].map(stateOf)).toEqual([undefined, 'state-of-one', undefined]);
  });

  it('the state of a turn over SSE is that of the first answer', async () => {
    service.upstream
      .answer([functionCall('weather')], { headers: { 'x-codex-turn-state': 'first' } })
      .answer([functionCall('weather')], { headers: { 'x-codex-turn-state': 'second' } });
    await ask(service, { tools: [TOOL] });
    expect([0, 1, 2].map(stateOf)).toEqual([undefined, 'first', 'first']);
  });

  it('the state of a turn over SSE is kept of an attempt that failed', async () => {
    service.upstream.answer([], { terminal: 'response.failed', headers: { 'x-codex-turn-state': 'first' } });
    await ask(service);
    expect([0, 1].map(stateOf)).toEqual([undefined, 'first']);
  });

  it('the state of a turn reaches the client, who sends it back in its own requests of the turn', async () => {
    service.upstream.answer([message('Hello')], { headers: { 'x-codex-turn-state': 'given' } });
    const { headers } = await service.api.post('responses', { model: MODEL, input: 'Hi' });
    expect(headers.get('x-codex-turn-state')).toBe('given');
    await ask(service, {}, { 'x-codex-turn-state': 'given' });
    expect(stateOf(1)).toBe('given');
  });
});

describe('§4.1 the state of a turn on a socket', () => {
  const saying = (state: string): Responder =>
    preceded(answering([functionCall('weather')]), {
      type: 'response.metadata',
      headers: { 'x-codex-turn-state': state },
    });

  it('the state of a turn comes in events, and goes back in client_metadata (codex-2026-11)', async () => {
    await using service = await startWithTool({ entry: { supports_websockets: true } });
    service.upstream.onEveryUpgrade({ 'x-codex-turn-state': 'of the handshake' }).respond(saying('of an event'));
    const first = await ask(service, { tools: [TOOL] });
    await ask(service, { previous_response_id: first.response.id });
    const states = service.upstream.calls.map(({ body }) => {
      const { client_metadata: metadata } = body as { readonly client_metadata?: Readonly<Record<string, unknown>> };
      return metadata?.['x-codex-turn-state'];
    });
    expect(states).toEqual([undefined, 'of an event', undefined]);
    expect(service.upstream.sockets).toHaveLength(1);
    // The second pass names the first, and carries only what the tool said.
    expect(service.upstream.calls[1]?.body).toMatchObject({
      previous_response_id: service.upstream.calls[0]?.responseId,
      input: [{ type: 'function_call_output' }],
    });
  });

  describe('in codex-2026-02', () => {
    const entry = { supports_websockets: true, profile: 'codex-2026-02', features: { responses_websockets: true } };
    const service = useFreshService(() => load({ entry }));
    const ONE = { prompt_cache_key: 'conversation-one' };

    const states = (): readonly unknown[] =>
      service.upstream.sockets.map(({ headers }) => headers['x-codex-turn-state']);

    it('the state of a turn comes in the handshake, and goes back in the next one of the turn', async () => {
      service.upstream.onEveryUpgrade({ 'x-codex-turn-state': 'of the handshake' });
      service.upstream.respond(cutting([], 1, 'eof'), saying('of an event'));
      await ask(service, ONE);
      expect(states()).toEqual([undefined, 'of the handshake']);
    });

    it('the state of a turn is not of a later turn, also on the same socket', async () => {
      service.upstream.onUpgrade({ 'x-codex-turn-state': 'of the first turn' });
      const first = await service.api.post('responses', { model: MODEL, input: 'Hi', ...ONE });
      expect(first.headers.get('x-codex-turn-state')).toBe('of the first turn');
      service.upstream.respond(cutting([], 1, 'eof'));
      const second = await service.api.post('responses', { model: MODEL, input: 'Hi', ...ONE });
      expect(second.headers.get('x-codex-turn-state')).toBeNull();
      expect(states()).toEqual([undefined, undefined]);
    });
  });
});
