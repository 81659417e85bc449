import { afterAll, describe, expect, it } from '@jest/globals';

import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { saidIn } from '../support/output.js';
import { MODEL, runTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { trustTestCertificate } from '../support/upstream-server.js';
import { useService } from '../support/describe-service.js';
import { openStream } from '../support/sse.js';

const ANSWER = { text: ['One', ' two', ' three'] };
const TURN = { model: MODEL, input: 'Go on.' };

describe('an upstream over TLS', () => {
  let upstream: ChatUpstream;
  const service = useService(async () => {
    trustTestCertificate();
    upstream = await ChatUpstream.start('https');
    return startChatService({ upstream, provider: { retries: 0 } });
  });

  afterAll(async () => {
    await upstream.close();
  });

  it('an upstream over TLS is spoken to in HTTP/2', async () => {
    const { response } = await runTurn(service, ANSWER, { packetBytes: 5 });
    expect(response.status).toBe('completed');
    expect(saidIn(response)).toEqual([{ text: 'One two three' }]);
    expect(upstream.requests.at(-1)).toMatchObject({ httpVersion: '2.0', body: { stream: true } });
  });

  it('a connection over TLS loses only the turn whose client hangs up', async () => {
    const before = upstream.requests.length;
    upstream.hold();
    const hangUp = new AbortController();
    const leaving = openStream(`${service.baseURL}/responses`, TURN, { signal: hangUp.signal }).catch(() => null);
    const request = await upstream.received(before + 1);
    const staying = runTurn(service, ANSWER);
    const other = await upstream.received(before + 2);
    expect(other.connection).toBe(request.connection);
    hangUp.abort();
    await leaving;
    await request.closed;
    upstream.release();
    expect((await staying).response.status).toBe('completed');
  });

  it('a connection over TLS fails only the turn whose stream it resets', async () => {
    const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: 'reset' } });
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect((await runTurn(service, ANSWER)).response.status).toBe('completed');
  });
});
