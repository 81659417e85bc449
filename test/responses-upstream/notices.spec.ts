import { describe, expect, it } from '@jest/globals';
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session';
import { ResponsesWS } from 'openai/resources/responses/ws';

import { useFreshService } from '../support/describe-service.js';
import { failing, refusing } from '../support/responses-upstream/reply.js';
import {
  MODEL,
  shareTimedService,
  startTimedService,
  type TimedService,
} from '../support/responses-upstream/start-responses-service.js';
import type { WireEvent } from '../../src/testing/index.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream } from '../support/sse.js';

// Each test has it load what it needs.
const loadTimed = shareTimedService();

const NOTICES = { WS_UPSTREAM_NOTICES: 'true' };
const BROKEN = failing({ code: 'server_error', message: 'Broken at 10.1.2.3.' });
const TYPE = 'antiphon.upstream';

/** The events of a turn on a socket, up to its end or its refusal. */
async function eventsOf(service: TimedService, body: object = {}): Promise<readonly WireEvent[]> {
  await using client = await SocketClient.open(service);
  client.create({ model: MODEL, input: 'Hi', ...body });
  const events: WireEvent[] = [];
  do events.push(await client.next());
  while (!/^(?:error|response\.(?:completed|failed))$/.test(events.at(-1)?.type ?? ''));
  return events;
}

const reconnecting = (attempt: number, most: number, delayMs: number): object => ({
  type: TYPE,
  notice: 'reconnecting',
  message: `Reconnecting... ${attempt}/${most}`,
  code: 'server_error',
  attempt,
  max_attempts: most,
  delay_ms: delayMs,
});

describe('§5.3 what clients on sockets hear of repetitions', () => {
  const service = useFreshService(() => startTimedService({ environment: NOTICES }));

  it('a client on a socket hears of each repetition, before the response begins', async () => {
    service.upstream.respond(BROKEN, BROKEN);
    const events = await eventsOf(service);
    expect(events.slice(0, 2)).toEqual([reconnecting(1, 5, 200), reconnecting(2, 5, 400)]);
    expect(events.slice(2).map(({ type }) => type)).not.toContain(TYPE);
    expect(events.at(-1)?.type).toBe('response.completed');
  });

  it('the notice of a repetition names the lane', async () => {
    service.upstream.respond(BROKEN);
    const events = await eventsOf(service, { stream_id: 'a' });
    expect(events[0]).toEqual({ ...reconnecting(1, 5, 200), stream_id: 'a' });
  });

  it('a repetition is told of a turn that is refused in the end', async () => {
    service.upstream.always(BROKEN);
    const types = (await eventsOf(service)).map(({ type }) => type);
    expect(types).toEqual([TYPE, TYPE, TYPE, TYPE, TYPE, 'error']);
  });

  it('a repetition is not told over SSE, where SDKs throw on types that they do not know', async () => {
    service.upstream.respond(BROKEN);
    const answer = await openStream(`${service.baseURL}/responses`, { model: MODEL, input: 'Hi' });
    const types: string[] = [];
    if (answer.streams) for await (const { type } of answer.events) types.push(type);
    expect(types[0]).toBe('response.created');
    expect(types).not.toContain(TYPE);
  });

  it('the SDK passes on the notice of a repetition, and its lanes come to their end', async () => {
    service.upstream.respond(BROKEN);
    const ws = new ResponsesWS(service.client());
    const seen: string[] = [];
    ws.on('event', ({ type }) => seen.push(type));
    const closed = new Promise((resolve) => ws.on('close', resolve));
    const session = new ResponsesWebSocketSession(ws, {
      maxLanes: 2,
      maxBufferedEvents: 1000,
      maxBufferedBytes: 2 ** 20,
    });
    for await (const { type } of ws.stream()) if (type === 'open') break;
    const lane = session.lane('a');
    lane.create({ model: MODEL, input: 'Hi' });
    expect(await lane.finalResponse({ maxResponseBytes: 2 ** 20 })).toMatchObject({
      status: 'completed',
      output_text: 'ok',
    });
    expect(seen.slice(0, 2)).toEqual([TYPE, 'response.created']);
    ws.close();
    await closed;
  });
});

describe('§5.3 what clients on sockets hear of a fallback', () => {
  const service = useFreshService(() =>
    startTimedService({ environment: NOTICES, entry: { supports_websockets: true, stream_max_retries: 1 } }),
  );
  const fallback = {
    type: TYPE,
    notice: 'fallback',
    message: 'Falling back from WebSockets to HTTPS transport.',
    code: 'server_error',
  };

  it('the notice of a fallback follows the last repetition', async () => {
    service.upstream.respond(BROKEN, BROKEN);
    const events = await eventsOf(service);
    expect(events.slice(0, 2)).toEqual([reconnecting(1, 1, 200), fallback]);
    expect(events.at(-1)?.type).toBe('response.completed');
  });

  it('the notice of a fallback comes at once after a 426', async () => {
    service.upstream.onUpgrade(refusing(426));
    const [first, second] = await eventsOf(service);
    expect(first).toMatchObject({ type: TYPE, notice: 'fallback' });
    expect(second?.type).toBe('response.created');
  });
});

describe('§5.3 by default', () => {
  const service = useFreshService(() => loadTimed());

  it('clients hear of no upstream notice by default', async () => {
    service.upstream.respond(BROKEN, BROKEN);
    expect((await eventsOf(service))[0]?.type).toBe('response.created');
  });
});
