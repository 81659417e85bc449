import { once } from 'node:events';

import { afterAll, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { chunk, finish, openStreamOf } from './chunk-stream.js';
import { saidIn } from '../support/output.js';
import { MODEL, runTurn, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import type { UpstreamRequest } from '../support/upstream-server.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import { useService } from '../support/describe-service.js';
import { openRawStream } from '../support/sse.js';
import { WatchedClock } from '../support/clocks.js';

const ANSWER = { text: ['One', ' two', ' three'] };
const FIRST_BYTE_MS = 40_000;
const IDLE_MS = 20_000;

describe('an upstream that falls silent', () => {
  const clock = new WatchedClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService(() =>
    startChatService({
      provider: { retries: 0, timeouts: { first_byte_ms: FIRST_BYTE_MS, idle_ms: IDLE_MS } },
      environment: { MODEL_ACCEPT_TIMEOUT_MS: 3_600_000, MODEL_IDLE_TIMEOUT_MS: 0, SSE_KEEPALIVE_MS: 100_000 },
      overrides: [[Clock, clock]],
    }),
  );

  it.each(['ignore', 'answerHeadOnly'] as const)(
    'an upstream that falls silent before its first byte is given up: %s',
    async (how) => {
      const { upstream } = service;
      const before = upstream.requests.length;
      upstream[how]();
      const waiting = clock.whenScheduled(FIRST_BYTE_MS);
      const turn = sendTurn(service).catch((error: unknown) => error);
      await waiting;
      const request = await upstream.received(before + 1);
      clock.advance(FIRST_BYTE_MS - 1);
      expect(request.isClosed).toBe(false);
      clock.advance(1);
      expect(await turn).toMatchObject({ status: 500, body: { error: { code: 'server_error' } } });
      await request.closed;
    },
  );

  it('an upstream that falls silent in the middle is given up, and what it said is kept', async () => {
    const turn = runTurn(service, ANSWER, { breaks: { after: 3, by: 'stall' } });
    const request = await allRead(3);
    clock.advance(IDLE_MS - 1);
    expect(request.isClosed).toBe(false);
    clock.advance(1);
    const { response } = await turn;
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(saidIn(response)).toEqual([{ text: 'One two' }]);
    await request.closed;
  });

  it('an upstream that falls silent behind its finish reason has finished', async () => {
    const turn = runTurn(service, ANSWER, { breaks: { after: 5, by: 'stall' } });
    const request = await allRead(5);
    clock.advance(IDLE_MS - 1);
    const { response } = await turn;
    expect(response.status).toBe('completed');
    expect(saidIn(response)).toEqual([{ text: 'One two three' }]);
    await request.closed;
  });

  it('an upstream that falls silent behind a finish reason that has ended nothing is given up', async () => {
    const data = [chunk({ content: 'One' }), finish(), chunk({ content: ' two' })];
    service.upstream.replay(openStreamOf(data), { breaks: { after: 1, by: 'stall' } });
    const turn = sendTurn(service);
    const request = await allRead(1);
    clock.advance(IDLE_MS - 1);
    expect(request.isClosed).toBe(false);
    clock.advance(1);
    const { response } = await turn;
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(saidIn(response)).toEqual([{ text: 'One two' }]);
    await request.closed;
  });

  it('an upstream that falls silent while the client does not read is not to blame', async () => {
    const { upstream } = service;
    const before = upstream.requests.length;
    upstream.answer({ text: Array.from({ length: 1500 }, () => 'x'.repeat(8 * 1024)) });
    const client = openRawStream(service.port, { model: MODEL, input: 'Go on.' });
    client.socket.pause();
    const request = await upstream.received(before + 1);
    await request.blocked();
    await whenStill(() => request.written);
    clock.advance(IDLE_MS * 2);
    const ended = once(client.socket, 'end');
    client.socket.resume();
    await ended;
    expect(request.written).toBe(1504);
  });

  /** The next request, once the service has read all packets of its answer. */
  async function allRead(packets: number): Promise<UpstreamRequest> {
    const request = await service.upstream.received(service.upstream.requests.length + 1);
    await whenStill(() => request.written);
    expect(request.written).toBe(packets);
    return request;
  }
});
