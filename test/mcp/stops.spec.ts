import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, type FakeMcpCall, FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { SteeredLane } from '../support/steered-lane.js';

/** Less than a call may take. */
const LIMIT_MS = 20_000;

/** The call that runs. */
let begun = Promise.withResolvers<FakeMcpCall>();

const server = await FakeMcpServer.start([
  {
    name: 'wait',
    handler: (call) => {
      begun.resolve(call);
      return new Promise((resolve) => call.signal.addEventListener('abort', () => resolve('cancelled')));
    },
  },
]);
const folder = await mkdtemp(join(tmpdir(), 'antiphon-mcp-stops-'));
const path = join(folder, 'servers.json');
await writeFile(path, JSON.stringify({ servers: { slow: { url: server.url } } }));

afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const BODY = {
  model: 'm',
  input: 'Wait.',
  tools: [{ type: 'mcp', server_label: 'slow', require_approval: 'never' }],
};

describe('a call that takes long', () => {
  const clock = new FakeClock();
  const service = useService({
    providers: [ScriptedProvider],
    environment: { MCP_SERVERS: path, MAX_TURN_MS: LIMIT_MS },
    overrides: [[Clock, clock]],
  });

  beforeEach(() => {
    begun = Promise.withResolvers();
    server.requests.length = 0;
    service.provider.reply(
      { type: 'function_call', name: 'slow__wait', callId: 'call_1' },
      { type: 'usage', input: 1, output: 1 },
    );
  });

  /** The server is told once, and no model is asked again. No clock moves until then: nothing but the end of the turn tells it. */
  async function expectCancelled(): Promise<void> {
    const { message } = await server.received('notifications/cancelled');
    expect(message.params).toHaveProperty('requestId');
    expect((await begun.promise).signal.aborted).toBe(true);
    expect(server.count('tools/call')).toBe(1);
  }

  it('is cancelled at its server when the client disconnects', async () => {
    const client = new AbortController();
    const answer = service
      .client()
      .responses.create(BODY as never, { signal: client.signal })
      .catch((error: unknown) => error);
    await begun.promise;
    client.abort();
    expect(await answer).toBeInstanceOf(Error);
    await expectCancelled();
  });

  it('is cancelled at its server when MAX_TURN_MS is over', async () => {
    const answer = service.client().responses.create(BODY as never);
    await begun.promise;
    clock.advance(LIMIT_MS);
    expect(await answer).toMatchObject({ status: 'failed', error: { code: 'turn_time_limit_exceeded' } });
    await expectCancelled();
  });

  it('is cancelled at its server when the client interrupts the turn', async () => {
    await using client = await SocketClient.open(service);
    const lane = new SteeredLane(client);
    lane.create(BODY);
    const { id } = await lane.created();
    await begun.promise;
    lane.interrupt(id);
    await lane.until('response.interrupt.accepted');
    expect(await lane.end()).toMatchObject({ incomplete_details: { reason: 'interrupted' } });
    await expectCancelled();
  });
});
