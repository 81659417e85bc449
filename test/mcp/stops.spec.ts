import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, type ModelEvent } from '../../src/index.js';
import { FakeClock, type FakeMcpCall, FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { SteeredLane } from '../support/steered-lane.js';

/** Less than a call may take. */
const LIMIT_MS = 20_000;

/** The call that runs. */
let begun = Promise.withResolvers<FakeMcpCall>();

/** Ends it. */
let release: (text: string) => void = () => undefined;

const server = await FakeMcpServer.start([
  {
    name: 'wait',
    handler: (call) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      release = resolve;
      call.signal.addEventListener('abort', () => resolve('cancelled'));
      begun.resolve(call);
      return promise;
    },
  },
]);
const path = await writeMcpServers({ slow: { url: server.url } });

afterAll(async () => {
  await server.close();
});

const BODY = {
  model: 'm',
  input: 'Wait.',
  tools: [{ type: 'mcp', server_label: 'slow', require_approval: 'never' }],
};

const CALL: readonly ModelEvent[] = [
  { type: 'function_call', name: 'slow__wait', callId: 'call_1' },
  { type: 'usage', input: 1, output: 1 },
];

describe('a call that takes long', () => {
  const clock = new FakeClock();
  const service = useService({
    providers: [ScriptedProvider],
    environment: { MCP_SERVERS: path, MAX_TURN_MS: LIMIT_MS, MAX_PASSES: 2 },
    overrides: [[Clock, clock]],
  });

  beforeEach(() => {
    begun = Promise.withResolvers();
    server.requests.length = 0;
    service.provider.turns.length = 0;
    service.provider.isSteerable = true;
    service.provider.reply(...CALL);
  });

  /** The server is told once, and no model is asked again. No clock moves until then: nothing but the end of the turn tells it. */
  async function expectCancelled(): Promise<void> {
    const { message } = await server.received('notifications/cancelled');
    expect(message.params).toHaveProperty('requestId');
    expect((await begun.promise).signal.aborted).toBe(true);
    expect(server.count('tools/call')).toBe(1);
  }

  it('a call that takes long is cancelled at its server when the client disconnects', async () => {
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

  it('a call that takes long is cancelled at its server when MAX_TURN_MS is over', async () => {
    const answer = service.client().responses.create(BODY as never);
    await begun.promise;
    clock.advance(LIMIT_MS);
    expect(await answer).toMatchObject({ status: 'failed', error: { code: 'turn_time_limit_exceeded' } });
    await expectCancelled();
  });

  it('a call that takes long is cancelled at its server when the client interrupts the turn, which the model is then not told of', async () => {
    await using client = await SocketClient.open(service);
    const lane = new SteeredLane(client);
    lane.create(BODY);
    const { id } = await lane.created();
    await begun.promise;
    lane.interrupt(id);
    await lane.until('response.interrupt.accepted');
    const interrupted = await lane.end();
    expect(interrupted).toMatchObject({
      incomplete_details: { reason: 'interrupted' },
      output: [{ type: 'mcp_list_tools' }],
    });
    expect(interrupted.output).toHaveLength(1);
    await expectCancelled();
    lane.create({ ...BODY, previous_response_id: id, input: 'Again' });
    await lane.created();
    expect(await lane.end()).toMatchObject({ status: 'completed' });
    expect(transcript(service.provider.turns[1]?.context ?? [])).toEqual(['user: Wait.', 'user: Again']);
  });

  it('a call that takes long goes on when the client steers the turn, whose successor has its result', async () => {
    await using client = await SocketClient.open(service);
    const lane = new SteeredLane(client);
    lane.create(BODY);
    const { id } = await lane.created();
    await begun.promise;
    lane.steer(id, 'Left!');
    await lane.until('response.steer.accepted');
    release('waited');
    const steered = await lane.end();
    expect(steered).toMatchObject({
      incomplete_details: { reason: 'steered' },
      output: [{ type: 'mcp_list_tools' }, { type: 'mcp_call', status: 'completed', output: 'waited' }],
    });
    await lane.created();
    expect(await lane.end()).toMatchObject({ previous_response_id: id, status: 'completed' });
    expect([server.count('tools/list'), server.count('tools/call')]).toEqual([1, 1]);
    expect(server.count('notifications/cancelled')).toBe(0);
    const [, second] = service.provider.turns;
    expect(transcript(second?.context ?? [])).toEqual([
      'user: Wait.',
      'function_call',
      'function_call_output',
      'user: Left!',
    ]);
    expect(second?.context.at(-2)).toMatchObject({ output: 'waited' });
  });

  it('a call is not made in the last pass within MAX_PASSES: the response ends as incomplete', async () => {
    service.provider.reply(...CALL);
    const answer = service.client().responses.create(BODY as never);
    await begun.promise;
    release('waited');
    expect(await answer).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_passes' },
      output: [{ type: 'mcp_list_tools' }, { type: 'mcp_call', output: 'waited' }],
    });
    expect(server.count('tools/call')).toBe(1);
    expect(service.provider.turns.map(({ settings }) => settings.tools.length)).toEqual([1, 0]);
  });
});
