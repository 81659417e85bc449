import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useFreshService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { postJson } from '../support/sse.js';
import { WatchedClock } from '../support/clocks.js';

const GRACE = 30_000;
const LIFETIME = 3_600_000;

describe('a connection that its tenant retires', () => {
  let clock: WatchedClock;
  let held: HeldTurns;

  // Before it closes.
  afterEach(() => clock.letGo());
  const service = useFreshService(async () => {
    clock = new WatchedClock();
    return startService({
      providers: [ScriptedProvider],
      overrides: [[Clock, clock]],
      environment: { WS_EXPIRY_GRACE_MS: GRACE, WS_PING_INTERVAL_MS: 10 * LIFETIME, WS_EXPIRY_NOTICE_MS: 0 },
    });
  });

  beforeEach(() => {
    held = new HeldTurns(service.app.get(ScriptedProvider));
  });

  const retire = async (): Promise<void> => {
    const list = await fetch(`${service.baseURL}/connections`);
    const { data } = (await list.json()) as { readonly data: readonly [{ readonly id: string }] };
    for (let times = 0; times < 2; times += 1) {
      const answer = await fetch(`${service.baseURL}/connections/${data[0].id}`, { method: 'DELETE' });
      expect(answer.status).toBe(200);
    }
  };

  it('a connection that its tenant retires takes no more turns, ends the running one well, and is closed', async () => {
    await using client = await SocketClient.open(service);
    held.hold();
    for (const input of ['running', 'waiting']) client.create({ stream_id: 'a', input });
    await held.whenBegun(1);
    await client.roundTrip();
    await retire();
    const refusal = {
      type: 'error',
      status: 503,
      error: { type: 'service_unavailable_error', code: 'service_unavailable', headers: { 'retry-after': '1' } },
    };
    expect(await client.refusal({ stream_id: 'b', input: 'late' })).toMatchObject(refusal);
    clock.advance(GRACE - 1);
    held.letGo('running');
    expect((await client.finish('a')).response).toMatchObject({
      status: 'completed',
      output: [{ content: [{ text: 're running' }] }],
    });
    expect(await client.nextOf('a')).toMatchObject(refusal);
    expect(await client.closed).toEqual({ code: 1000, reason: 'connection_retired' });
    expect(held.begun).toEqual(['running']);
  });

  it('a connection that its tenant retires fails what outlives WS_EXPIRY_GRACE_MS', async () => {
    await using client = await SocketClient.open(service);
    held.hold();
    client.create({ input: 'too long' });
    await held.whenBegun(1);
    await retire();
    clock.advance(GRACE);
    expect((await client.finish()).response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(await client.closed).toEqual({ code: 1000, reason: 'connection_retired' });
  });

  it('a connection that its tenant retires is closed for the first of two reasons', async () => {
    await using client = await SocketClient.open(service);
    clock.advance(LIFETIME - 1);
    held.hold();
    client.create({ input: 'running' });
    await held.whenBegun(1);
    await retire();
    clock.advance(1);
    const refused = await client.refusal({ stream_id: 'b', input: 'late' });
    expect(refused).toMatchObject({ status: 503, error: { code: 'service_unavailable' } });
    held.letGo('running');
    expect((await client.finish()).response.status).toBe('completed');
    expect(await client.closed).toEqual({ code: 1000, reason: 'connection_retired' });
    expect(client.unread).toEqual([]);
  });

  it('a connection that its tenant retires does not take others with it', async () => {
    await using first = await SocketClient.open(service);
    await using second = await SocketClient.open(service);
    await retire();
    expect(await first.closed).toMatchObject({ reason: 'connection_retired' });
    expect((await second.turn({ input: 'Hi' })).response.status).toBe('completed');
    const answer = await postJson(`${service.baseURL}/responses`, { model: 'scripted', input: 'Hi' });
    expect(answer.status).toBe(200);
  });
});
