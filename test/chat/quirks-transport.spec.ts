import { once } from 'node:events';

import { describe, expect, it } from '@jest/globals';

import { freePort } from '../support/ports.js';
import { MODEL, runTurn, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import { useService } from '../support/describe-service.js';
import { openedFor } from '../support/opened-connections.js';
import { openRawStream, openStream } from '../support/sse.js';

const ANSWER = { text: ['One', ' two', ' three'] };
const TURN = { model: MODEL, input: 'Go on.' };

describe('the connection to an upstream', () => {
  const service = useService(async () => {
    const environment = { MAX_OUTPUT_CHARACTERS: 64 * 1024 * 1024 };
    return startChatService({ provider: { retries: 0 }, environment });
  });

  it('the connection to an upstream hands on every piece as it comes', async () => {
    const { upstream } = service;
    upstream.hold().answer(ANSWER);
    const opening = openStream(`${service.baseURL}/responses`, TURN);
    upstream.release(2);
    const answer = await opening;
    if (!answer.streams) throw new Error('refused');
    const seen: unknown[] = [];
    for await (const { type, delta } of answer.events) {
      if (type !== 'response.output_text.delta') continue;
      seen.push(delta);
      expect(upstream.requests.at(-1)?.written).toBe(seen.length + 1);
      upstream.release(seen.length < ANSWER.text.length ? 1 : Infinity);
    }
    expect(seen).toEqual(ANSWER.text);
  });

  it('the connection to an upstream is kept for the next turn', async () => {
    await runTurn(service, ANSWER);
    const round: readonly (() => Promise<unknown>)[] = [
      () => runTurn(service, ANSWER),
      () => runTurn(service, ANSWER, { usage: 'absent', done: false }),
      () => runTurn(service, ANSWER, { json: true }),
      () => expect(runTurn(service, ANSWER, { status: 400, json: true })).rejects.toThrow(),
    ];
    // A turn may begin while the last bytes of the one before are still on the way.
    expect(await openedFor(service.upstream, [...round, ...round, ...round])).toBeLessThanOrEqual(1);
  });

  it('the connection to an upstream is kept after long answers', async () => {
    const turn = (): Promise<unknown> => runTurn(service, { text: 'long '.repeat(50_000) });
    expect(await openedFor(service.upstream, [turn, turn, turn, turn])).toBeLessThanOrEqual(1);
  });

  it('the connection may be closed by the upstream behind every answer', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { response } = await runTurn(service, ANSWER, { headers: { connection: 'close' } });
      expect(response.status).toBe('completed');
    }
  });

  it('the connection may be closed by the upstream while nobody uses it', async () => {
    await using other = await startChatService();
    for (let round = 0; round < 3; round += 1) {
      expect((await runTurn(other, ANSWER)).response.status).toBe('completed');
      other.upstream.dropConnections();
    }
    expect(other.upstream.connections).toBe(3);
  });

  it('the connection to an upstream is one for each of the turns that run at once', async () => {
    const { upstream } = service;
    upstream.hold();
    const before = upstream.requests.length;
    const turns = [1, 2, 3].map(() => runTurn(service, ANSWER));
    await upstream.received(before + 3);
    upstream.release();
    for (const { response } of await Promise.all(turns)) expect(response.status).toBe('completed');
    const used = upstream.requests.slice(before).map(({ connection }) => connection);
    expect(new Set(used).size).toBe(3);
  });

  it('the connection to an upstream is closed when the client hangs up in the middle', async () => {
    const { upstream } = service;
    upstream.hold().answer(ANSWER);
    const hangUp = new AbortController();
    upstream.release(2);
    const answer = await openStream(`${service.baseURL}/responses`, TURN, { signal: hangUp.signal });
    if (!answer.streams) throw new Error('refused');
    for await (const { type } of answer.events) if (type === 'response.output_text.delta') break;
    hangUp.abort();
    await upstream.requests.at(-1)?.closed;
    upstream.release();
  });

  it('the connection to an upstream is closed when the client hangs up before the first word', async () => {
    const { upstream } = service;
    upstream.ignore();
    const before = upstream.requests.length;
    const hangUp = new AbortController();
    const opening = openStream(`${service.baseURL}/responses`, TURN, { signal: hangUp.signal });
    const request = await upstream.received(before + 1);
    hangUp.abort();
    await expect(opening).rejects.toMatchObject({ name: 'AbortError' });
    await request.closed;
  });

  it('an upstream is held back while the client does not read', async () => {
    const { upstream } = service;
    const before = upstream.requests.length;
    // More than all buffers on the way hold.
    const piece = 'x'.repeat(8 * 1024);
    upstream.answer({ text: Array.from({ length: 2000 }, () => piece) });
    const client = openRawStream(service.port, TURN);
    client.socket.pause();
    const request = await upstream.received(before + 1);
    await request.blocked();
    await whenStill(() => request.written);
    expect(request.written).toBeLessThan(2000);
    const ended = once(client.socket, 'end');
    client.socket.resume();
    await ended;
    // The role, the pieces, the finish reason, the usage, the end.
    expect(request.written).toBe(2004);
  });

  it('a request to an upstream carries credentials, headers and the query of the providers file', async () => {
    const provider = { api_key: 'secret-key', headers: { 'x-team': 'agents' }, query: { 'api-version': '1' } };
    await using other = await startChatService({ provider });
    await runTurn(other, ANSWER);
    const [request] = other.upstream.requests;
    expect(request).toMatchObject({
      method: 'POST',
      url: '/v1/chat/completions?api-version=1',
      headers: { authorization: 'Bearer secret-key', 'x-team': 'agents' },
      body: { model: 'upstream-model', stream: true },
    });
  });

  it('the connection to an upstream may be refused', async () => {
    const base = `http://127.0.0.1:${await freePort()}/v1`;
    await using other = await startChatService({ provider: { base_url: base, retries: 0 } });
    const refusal = await sendTurn(other).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      status: 503,
      body: { error: { type: 'service_unavailable_error', code: 'model_unavailable' } },
    });
    expect(JSON.stringify(refusal)).not.toMatch(/127\.0\.0\.1|ECONNREFUSED/);
  });

  it('a body that is compressed although that was not asked for fails its turn, and the connection goes on', async () => {
    await expect(runTurn(service, ANSWER, { gzip: true })).rejects.toMatchObject({ status: 502 });
    expect((await runTurn(service, ANSWER)).response.status).toBe('completed');
  });
});
