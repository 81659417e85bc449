import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { beforeAll, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';

/** Fewer characters than bytes, in each of UTF-8's lengths. */
const WORDS = ['harbor ', 'café ', '港口 ', '⚓🚢 ', 'end'];
const BODY = JSON.stringify({ model: 'scripted', input: 'Go on.', stream: true });

/** A request as it stands on the wire. */
function toRequest(version: string, headers: readonly string[] = []): string {
  const length = Buffer.byteLength(BODY);
  const lines = ['host: localhost', 'content-type: application/json', `content-length: ${length}`, ...headers];
  return `POST /v1/responses HTTP/${version}\r\n${lines.join('\r\n')}\r\n\r\n${BODY}`;
}

/** Sends bytes to a port and gives everything that comes back until the server closes the connection. */
async function exchange(port: number, request: string): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).write(request);
  await once(socket, 'close');
  return Buffer.concat(chunks);
}

/** Takes the chunks of an answer apart (RFC 9112 section 7.1). Gives their data and what stands behind the last one. */
function unchunk(answer: Buffer): { readonly chunks: readonly string[]; readonly rest: Buffer } {
  const chunks: string[] = [];
  let at = answer.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const lineEnd = answer.indexOf('\r\n', at);
    const size = answer.toString('latin1', at, lineEnd);
    expect(size).toMatch(/^[0-9a-f]+$/i);
    const start = lineEnd + 2;
    const end = start + Number.parseInt(size, 16);
    expect(answer.toString('latin1', end, end + 2)).toBe('\r\n');
    if (end === start) return { chunks, rest: answer.subarray(end + 2) };
    chunks.push(answer.toString('utf8', start, end));
    at = end + 2;
  }
}

/** The text that the deltas of a stream add up to. */
function textOf(stream: string): string {
  expect(stream.endsWith('data: [DONE]\n\n')).toBe(true);
  const deltas = stream.matchAll(/^data: (\{"type":"response\.output_text\.delta".*)$/gm);
  return [...deltas].map(([, data = '']) => (JSON.parse(data) as { readonly delta: string }).delta).join('');
}

describeService('a stream on the wire', { providers: [ScriptedProvider] }, (service) => {
  beforeAll(async () => {
    service.app.get(ScriptedProvider).otherwise(async function* () {
      for (const delta of WORDS) {
        yield { type: 'text', delta };
        await nextLoopTurn();
      }
      yield { type: 'finish', reason: 'stop' };
    });
  });

  it('a stream on the wire is made of whole chunks, whose length is in bytes', async () => {
    const { chunks, rest } = unchunk(await exchange(service.port, toRequest('1.1', ['connection: close'])));
    expect(chunks.length).toBeGreaterThan(WORDS.length - 1);
    expect(textOf(chunks.join(''))).toBe(WORDS.join(''));
    expect(rest).toHaveLength(0);
  });

  it('a stream on the wire has no chunks for a client of HTTP/1.0', async () => {
    const answer = String(await exchange(service.port, toRequest('1.0')));
    const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s);
    expect(head).not.toMatch(/transfer-encoding/i);
    expect(body.split('\n').filter((line) => !/^(?:event: |data: |$)/.test(line))).toEqual([]);
    expect(textOf(body)).toBe(WORDS.join(''));
  });

  it('a stream on the wire waits whole for the one before it, where a client sends two requests at once', async () => {
    const answer = await exchange(service.port, toRequest('1.1') + toRequest('1.1', ['connection: close']));
    const first = unchunk(answer);
    expect(textOf(first.chunks.join(''))).toBe(WORDS.join(''));
    const second = unchunk(first.rest);
    expect(textOf(second.chunks.join(''))).toBe(WORDS.join(''));
    expect(second.rest).toHaveLength(0);
  });

  it('a stream on the wire reaches an injected request, which has no socket', async () => {
    const { statusCode, body } = await service.app.inject({
      method: 'POST',
      url: '/v1/responses',
      headers: { 'content-type': 'application/json' },
      payload: BODY,
    });
    expect(statusCode).toBe(200);
    expect(textOf(body)).toBe(WORDS.join(''));
  });
});
