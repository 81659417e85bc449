import { afterEach, describe, expect, it } from '@jest/globals';
import { ResponsesWS } from 'openai/resources/responses/ws';

import { Clock } from '../../src/index.js';
import { describeService, useFreshService } from '../support/describe-service.js';
import { checkEventOrder, type WireEvent } from '../../src/testing/index.js';
import { withoutIds } from '../support/normalise.js';
import { type Service, startService } from '../support/service.js';
import { outline, simulatorRequests } from '../support/simulator-requests.js';
import { SocketClient } from '../support/socket-client.js';
import { WatchedClock } from '../support/clocks.js';

const HOUR = 3_600_000;
const HELLO = { model: 'gpt-4.1', input: [{ role: 'user', content: 'Hello' }] } as const;

const open = (service: Service): Promise<SocketClient> => SocketClient.open(service, {}, '/openai/v1/responses');

/** An event without what differs from turn to turn or belongs to SSE only: padding and times. */
function plain({ obfuscation: _padding, ...event }: WireEvent): object {
  const { response } = event;
  if (response === undefined) return event;
  return { ...event, response: { ...(response as object), created_at: null, completed_at: null } };
}

const notFound = (id: string): object => ({
  type: 'error',
  status: 400,
  error: { type: 'invalid_request_error', code: 'previous_response_not_found', message: expect.stringContaining(id) },
});

describeService('R10: WebSocket mode', {}, (service) => {
  it('R10.1: the simulator serves the SDK on the path of POST /openai/v1/responses', async () => {
    const ws = new ResponsesWS(simulatorRequests(service).client);
    const closed = new Promise((resolve) => ws.on('close', resolve));
    const types = new Promise<readonly string[]>((resolve, reject) => {
      const seen: string[] = [];
      ws.on('error', reject);
      ws.on('event', ({ type }) => {
        seen.push(type);
        if (type === 'response.completed') resolve(seen);
      });
    });
    ws.send({ type: 'response.create', model: 'gpt-5', input: 'Hello' });
    expect((await types)[0]).toBe('response.created');
    ws.close();
    await closed;
  });

  it('R10.2: the simulator takes a flat and a nested response.create', async () => {
    await using client = await open(service);
    client.send({ type: 'response.create', ...HELLO });
    const flat = (await client.finish()).response;
    client.send({ type: 'response.create', response: HELLO });
    const nested = (await client.finish()).response;
    expect(nested).toMatchObject({ status: 'completed', model: 'gpt-4.1', usage: flat['usage'] });
    expect(withoutIds(nested['output'])).toEqual(withoutIds(flat['output']));
  });

  it('R10.2: the simulator continues with a flat and a nested response.create', async () => {
    await using client = await open(service);
    const { response } = await client.turn({ ...HELLO, store: false });
    const more = { ...HELLO, store: false, previous_response_id: response.id };
    client.send({ type: 'response.create', response: more });
    const second = (await client.finish()).response;
    expect(second).toMatchObject({ status: 'completed', previous_response_id: response.id });
    client.send({ type: 'response.create', ...more, previous_response_id: second.id });
    expect((await client.finish()).response).toMatchObject({ previous_response_id: second.id });
  });

  it.each(['gpt-4.1', 'o3'])('R10.3: the simulator sends the events of SSE as plain JSON: %s', async (model) => {
    const body = { ...HELLO, model, reasoning: model === 'o3' ? { summary: 'auto' } : null };
    await using client = await open(service);
    const { events = [] } = await client.turn(body);
    const streamed = await simulatorRequests(service).stream(body);
    expect(withoutIds(events.map(plain))).toEqual(withoutIds(streamed.map(plain)));
    expect(outline(events)).toContain('response.output_text.delta');
  });

  it('R10.5: the simulator continues from the last response of the connection', async () => {
    await using client = await open(service);
    const first = await client.turn({ ...HELLO, store: false });
    const second = await client.turn({ ...HELLO, store: false, previous_response_id: first.response.id });
    expect(second.response).toMatchObject({ status: 'completed', previous_response_id: first.response.id });
    const [before, after] = [first, second].map(({ response }) => response['usage'] as Record<string, number>);
    expect(after?.['input_tokens']).toBeGreaterThanOrEqual(before?.['total_tokens'] ?? NaN);
    // Only the last one is remembered.
    expect(await client.refusal({ ...HELLO, previous_response_id: first.response.id })).toMatchObject(
      notFound(first.response.id),
    );
  });

  it('R10.5: the simulator does not continue from the last response of another connection', async () => {
    await using client = await open(service);
    await using other = await open(service);
    const { response } = await client.turn({ ...HELLO, store: false });
    expect(await other.refusal({ ...HELLO, previous_response_id: response.id })).toMatchObject(notFound(response.id));
  });

  it('R10.5: the simulator continues from a stored response of any connection (the store is asked too)', async () => {
    await using client = await open(service);
    const { response } = await client.turn(HELLO);
    await client.close();
    await using other = await open(service);
    const more = await other.turn({ ...HELLO, previous_response_id: response.id });
    expect(more.response).toMatchObject({ status: 'completed', previous_response_id: response.id });
  });

  it('R10.7: the simulator prepares with generate: false, without output', async () => {
    await using client = await open(service);
    const { events = [], response } = await client.warmUp({ ...HELLO, store: false });
    expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.completed']);
    expect(response).toMatchObject({
      status: 'completed',
      output: [],
      usage: { input_tokens: expect.any(Number), output_tokens: 0 },
    });
    const { response: next } = await client.turn({ ...HELLO, previous_response_id: response.id });
    expect(next).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
    const [before, after] = [response, next].map(({ usage }) => usage as Record<string, number>);
    expect(after?.['input_tokens']).toBeGreaterThan(before?.['input_tokens'] ?? NaN);
  });

  it('R10.8: the simulator refuses an unknown response with previous_response_not_found', async () => {
    await using client = await open(service);
    const frame = await client.refusal({ ...HELLO, previous_response_id: 'resp_abc123' });
    expect(frame).toMatchObject(notFound('resp_abc123'));
  });

  it.each([
    ['no JSON', '{"type":', 'invalid_json'],
    ['no object', '[]', 'invalid_type'],
    ['no type', '{}', 'unknown_event_type'],
    ['another type', '{"type":"response.update"}', 'unknown_event_type'],
    ['no model', '{"type":"response.create","input":"Hello"}', 'missing_required_parameter'],
    ['a response that is none', '{"type":"response.create","response":"Hello"}', 'invalid_type'],
  ])(
    'R10.8: the simulator refuses with invalid_request_error: %s (the code tells which), and the connection goes on',
    async (_, message, code) => {
      await using client = await open(service);
      client.send(message);
      expect(await client.next()).toMatchObject({
        type: 'error',
        status: 400,
        error: { type: 'invalid_request_error', code, message: expect.any(String) },
      });
      expect((await client.turn(HELLO)).response.status).toBe('completed');
    },
  );
});

describe('R10: WebSocket mode, on a clock', () => {
  let clock: WatchedClock;

  // Before it closes.
  afterEach(() => clock.letGo());
  const service = useFreshService(async () => {
    clock = new WatchedClock();
    return startService({
      // They run on the same clock; only the turn and the age of the connection are to count here.
      environment: { SIMULATOR_CONTROL: true, WS_PING_INTERVAL_MS: 10 * HOUR, WS_KEEPALIVE_MS: 10 * HOUR },
      overrides: [[Clock, clock]],
    });
  });

  it('R10.4: the simulator runs one response at a time (a second one is refused with concurrent_request)', async () => {
    await using client = await open(service);
    const stalled = clock.whenScheduled(4321);
    client.create({ ...HELLO, client_metadata: { 'x-simulate': 'fault=stall; after=1; for=4321' } });
    await stalled;
    client.create(HELLO);
    await client.roundTrip();
    expect(client.unread.map(({ type }) => type)).toContain('error');
    const frames: WireEvent[] = [];
    const readUpTo = async (type: string): Promise<WireEvent> => {
      for (;;) {
        const frame = await client.next();
        if (frame.type !== 'error') frames.push(frame);
        if (frame.type === type) return frame;
      }
    };
    expect(await readUpTo('error')).toMatchObject({ status: 409, error: { code: 'concurrent_request' } });
    expect(frames.map(({ type }) => type).slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
    clock.advance(4321);
    await readUpTo('response.completed');
    checkEventOrder(frames, { transport: 'ws' });
    expect((await client.turn(HELLO)).response).toMatchObject({ status: 'completed' });
  });

  it('R10.6: the simulator closes after 60 minutes, with websocket_connection_limit_reached', async () => {
    await using client = await open(service);
    clock.advance(HOUR - 1);
    expect(await client.next()).toMatchObject({ type: 'connection_expiring' });
    expect((await client.turn(HELLO)).response.status).toBe('completed');
    clock.advance(1);
    expect(await client.next()).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', code: 'websocket_connection_limit_reached' },
    });
    expect(await client.closed).toEqual({ code: 1000, reason: 'connection_expired' });
  });
});
