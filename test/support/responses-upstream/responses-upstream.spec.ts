import { once } from 'node:events';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ClientOptions, WebSocket } from 'ws';

import { checkEventOrder, type WireEvent } from '../../../src/testing/index.js';
import { functionCall, hosted, message, reasoning } from './items.js';
import { cutting, streaming } from './reply.js';
import { ResponsesUpstream } from './responses-upstream.js';
import { toEvents } from './to-events.js';

let upstream: ResponsesUpstream;

beforeEach(async () => {
  upstream = await ResponsesUpstream.start();
});

afterEach(() => upstream.close());

async function post(body: object = { model: 'm', input: [] }, headers = {}): Promise<Response> {
  return fetch(`${upstream.baseUrl}/responses`, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function open(options: ClientOptions = {}): Promise<WebSocket> {
  const socket = new WebSocket(`${upstream.baseUrl.replace('http', 'ws')}/responses`, options);
  await once(socket, 'open');
  return socket;
}

/** The frames up to the first of these types. */
async function framesUntil(socket: WebSocket, ...types: readonly string[]): Promise<WireEvent[]> {
  const frames: WireEvent[] = [];
  for (;;) {
    const [data] = (await once(socket, 'message')) as [Buffer];
    const frame = JSON.parse(String(data)) as WireEvent;
    frames.push(frame);
    if (types.includes(frame.type)) return frames;
  }
}

const ask = (socket: WebSocket, body: object = {}): void =>
  socket.send(
    JSON.stringify({ type: 'response.create', model: 'm', input: [{ role: 'user', content: 'Hi' }], ...body }),
  );

describe('ResponsesUpstream', () => {
  it('ResponsesUpstream gives streams that are correct', () => {
    const cited = [{ type: 'output_text', text: 'Hello', annotations: [{ type: 'url_citation' }], logprobs: [] }];
    const items = [
      reasoning(['Hm, well.', 'So.']),
      hosted('web_search_call', { action: { type: 'search', query: 'x' } }),
      message('', { content: cited }),
      functionCall('f', { a: 1 }),
    ];
    const events = toEvents('resp_1', items);
    checkEventOrder(events, { transport: 'ws' });
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { id: 'resp_1', output: items } });
  });

  it('ResponsesUpstream remembers on a socket what it answered there, and nothing over HTTP', async () => {
    const socket = await open();
    ask(socket);
    await framesUntil(socket, 'response.completed');
    const parent = upstream.lastCall.responseId;
    ask(socket, { previous_response_id: parent, input: [{ role: 'user', content: 'More' }] });
    await framesUntil(socket, 'response.completed');
    expect(upstream.lastCall.context).toMatchObject([{ content: 'Hi' }, { type: 'message' }, { content: 'More' }]);
    expect((await post({ model: 'm', input: [], previous_response_id: parent })).status).toBe(400);
    upstream.forget();
    ask(socket, { previous_response_id: parent });
    expect(await framesUntil(socket, 'error')).toMatchObject([
      { status: 400, error: { code: 'previous_response_not_found' } },
    ]);
    socket.terminate();
  });

  it.each([
    ['eof', 1006],
    ['reset', 1006],
    [{ close: 1011 }, 1011],
  ] as const)('ResponsesUpstream breaks a socket off: %j', async (end, code) => {
    upstream.respond(cutting([message('Hello')], 3, end));
    const socket = await open();
    socket.on('error', () => undefined);
    ask(socket);
    const [closedWith] = (await once(socket, 'close')) as [number];
    expect(closedWith).toBe(code);
    await (
      await upstream.socket()
    ).closed;
  });

  it('ResponsesUpstream breaks a body off, and sends it in bytes', async () => {
    upstream.respond(cutting([message('Hello')], 3, 'reset'), ({ responseId }) =>
      streaming([{ comment: 'hm' }, ...toEvents(responseId, []), { raw: '{"type":' }], { packing: 'bytes' }),
    );
    await expect(post().then((answer) => answer.text())).rejects.toThrow();
    const text = await (await post()).text();
    expect(text).toMatch(/^: hm\n\nevent: response.created\n/);
    expect(text).toMatch(/data: \{"type":\n\n$/);
  });

  it('ResponsesUpstream says when a client hangs up', async () => {
    upstream.respond('hang', 'hang');
    const aborter = new AbortController();
    const answer = fetch(`${upstream.baseUrl}/responses`, { method: 'POST', body: '{}', signal: aborter.signal });
    const call = await upstream.nextCall();
    aborter.abort();
    await expect(answer).rejects.toThrow();
    await call.closed;
    const socket = await open();
    ask(socket);
    const other = await upstream.nextCall();
    socket.terminate();
    await other.closed;
  });
});
