import { connect, constants } from 'node:http2';

import { describe, expect, it } from '@jest/globals';

import { ChatUpstream } from './chat-upstream.js';
import { freePort } from '../ports.js';
import type { Quirks } from './quirks.js';
import { TEST_CERTIFICATE, trustTestCertificate } from '../upstream-server.js';

const CALLS = {
  toolCalls: [
    { name: 'weather', arguments: ['{"city":', '"Bern"}'] },
    { name: 'time', arguments: ['{"zone":', '"CET"}'] },
  ],
};

async function ask(upstream: ChatUpstream, body: object = { model: 'm', stream: true }): Promise<Response> {
  return fetch(`${upstream.baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
}

async function chunksOf(quirks: Quirks, answer: object = CALLS): Promise<Record<string, never>[]> {
  await using upstream = await ChatUpstream.start();
  upstream.answer(answer, quirks);
  const text = await (await ask(upstream)).text();
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => JSON.parse(frame.slice(6)) as Record<string, never>);
}

async function callsOf(quirks: Quirks): Promise<unknown[]> {
  const chunks = (await chunksOf(quirks)) as unknown as { choices: { delta: { tool_calls?: unknown[] } }[] }[];
  return chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
}

describe('ChatUpstream', () => {
  it('ChatUpstream keeps usage to itself unless asked', async () => {
    expect(JSON.stringify(await chunksOf({}))).not.toContain('usage');
  });

  it('ChatUpstream words calls as quirks say', async () => {
    expect(await callsOf({})).toEqual([
      { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } },
      { index: 0, function: { arguments: '{"city":' } },
      { index: 0, function: { arguments: '"Bern"}' } },
      { index: 1, id: 'call_2', type: 'function', function: { name: 'time', arguments: '' } },
      { index: 1, function: { arguments: '{"zone":' } },
      { index: 1, function: { arguments: '"CET"}' } },
    ]);
    expect(await callsOf({ callIds: 'missing', callIndexes: 'zero', callArguments: 'object' })).toEqual([
      { index: 0, type: 'function', function: { name: 'weather', arguments: { city: 'Bern' } } },
      { index: 0, type: 'function', function: { name: 'time', arguments: { zone: 'CET' } } },
    ]);
    const alternating = await callsOf({
      callIds: 'last_chunk',
      callIndexes: 'missing',
      callTypes: 'missing',
      callNames: 'last_chunk',
      callOrder: 'alternating',
    });
    expect(alternating).toEqual([
      { function: { arguments: '{"city":' } },
      { function: { arguments: '{"zone":' } },
      { function: { arguments: '"Bern"}' } },
      { function: { arguments: '"CET"}' } },
      { id: 'call_1', function: { name: 'weather', arguments: '' } },
      { id: 'call_2', function: { name: 'time', arguments: '' } },
    ]);
    expect(await callsOf({ callNames: 'split', callIds: 'same' })).toContainEqual({
      index: 1,
      function: { name: 'me' },
    });
  });

  it('ChatUpstream grows usage by and by', async () => {
    const chunks = await chunksOf({ usage: 'cumulative' }, { text: ['a', 'b'] });
    expect(chunks.map(({ usage }) => usage)).toMatchObject([
      { completion_tokens: 1 },
      { completion_tokens: 3 },
      { completion_tokens: 5 },
      { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    ]);
  });

  it('ChatUpstream holds packets until they are released, and knows who hung up', async () => {
    await using upstream = await ChatUpstream.start();
    upstream.hold().answer({ text: ['Hello', 'there'] });
    const answer = await ask(upstream);
    const reader = answer.body?.getReader();
    upstream.release(1);
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toContain('"role":"assistant"');
    const request = await upstream.received();
    expect(request).toMatchObject({ written: 1, isClosed: false });
    await reader?.cancel();
    await request.closed;
    upstream.release();
    expect(request).toMatchObject({ written: 1, isClosed: true });
  });

  it('ChatUpstream breaks off', async () => {
    await using upstream = await ChatUpstream.start();
    upstream.answer({ text: 'Hello' }, { breaks: { after: 1, by: 'reset' } });
    const answer = await ask(upstream);
    await expect(answer.text()).rejects.toMatchObject({ message: 'terminated' });
    upstream.ignore();
    const hanging = new AbortController();
    const ignored = fetch(`${upstream.baseUrl}/chat/completions`, { method: 'POST', signal: hanging.signal });
    const request = await upstream.received(2);
    hanging.abort();
    await expect(ignored).rejects.toMatchObject({ name: 'AbortError' });
    await request.closed;
    await expect(fetch(`http://127.0.0.1:${await freePort()}`)).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    });
  });

  it('ChatUpstream speaks HTTP/2 over TLS with a certificate that can be trusted', async () => {
    await using upstream = await ChatUpstream.start('https');
    trustTestCertificate();
    const plain = await ask(upstream);
    expect(await plain.text()).toContain('"content":"ok"');
    const session = connect(upstream.baseUrl, { ca: TEST_CERTIFICATE });
    for (const text of ['one', 'two']) {
      upstream.answer({ text });
      const stream = session.request({ ':method': 'POST', ':path': '/v1/chat/completions' });
      stream.end('{}');
      expect((await Array.fromAsync(stream.setEncoding('utf8'))).join('')).toContain(text);
    }
    upstream.hold();
    const leaving = session
      .request({ ':method': 'POST', ':path': '/v1/chat/completions' })
      .on('error', () => undefined);
    leaving.end('{}');
    const request = await upstream.received(4);
    leaving.close(constants.NGHTTP2_CANCEL);
    await request.closed;
    session.close();
    const versions = upstream.requests.map(({ httpVersion, connection }) => [httpVersion, connection]);
    expect(versions).toEqual([
      ['1.1', 1],
      ['2.0', 2],
      ['2.0', 2],
      ['2.0', 2],
    ]);
  });
});
