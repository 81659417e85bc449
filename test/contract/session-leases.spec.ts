import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { type Replicas, startReplicas } from '../support/state-backends.js';
import type { Service } from '../support/service.js';
import { whenAsked } from './session-waiting.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';
import { collectStream } from '../support/sse.js';

const TAKEN_OVER = 'Another request took over the session. Please retry your request.';
const TTL_MS = 100;
const mine = { 'x-session-id': 'mine' };

describe('a turn that lost its session to another replica', () => {
  /** That of a replica that hangs: it is never time to renew a lease. */
  let clock: FakeClock;
  let replicas: Replicas;
  let slow: Service;
  let other: Service;
  let held: HeldTurns;

  beforeEach(async () => {
    clock = new FakeClock(Date.now());
    const options = {
      providers: [ScriptedProvider],
      environment: { SESSION_LOCK_TTL_MS: TTL_MS, WS_SESSION_LOCK: true },
    };
    replicas = await startReplicas({ ...options, overrides: [[Clock, clock]] }, options);
    ({ one: slow, two: other } = replicas);
    held = new HeldTurns(slow.app.get(ScriptedProvider)).hold();
  });

  afterEach(() => replicas.close());

  /** Another turn that takes the session over while the first one still runs. */
  const takeOver = async (): Promise<string> => {
    await held.whenBegun(1);
    // It waits until the lease has run out.
    const { id } = await new ApiClient(other.baseURL, mine).create({ input: 'other' });
    return id;
  };

  /** Neither what the session has nor its own id may show anything of the turn. */
  const expectOnly = async (kept: string, lost?: string): Promise<void> => {
    const api = new ApiClient(other.baseURL);
    expect(await api.idsOf('sessions/mine/responses')).toEqual([kept]);
    expect(await api.idsOf('responses')).toEqual([kept]);
    if (lost === undefined) return;
    expect((await api.get(`responses/${lost}`)).status).toBe(404);
    await expect(api.create({ previous_response_id: lost })).rejects.toMatchObject({
      body: { error: { code: 'previous_response_not_found' } },
    });
  };

  it('a turn that lost its session fails with 503 in JSON', async () => {
    const lost = new ApiClient(slow.baseURL, mine).post('responses', { model: 'scripted', input: 'slow' });
    const kept = await takeOver();
    held.letGo('slow');
    const { status, headers, body } = await lost;
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(body).toMatchObject({ error: { code: 'service_unavailable', message: TAKEN_OVER } });
    await expectOnly(kept);
  });

  it('a turn that lost its session fails as a stream', async () => {
    const body = { model: 'scripted', input: 'slow' };
    const lost = collectStream(`${slow.baseURL}/responses`, body, { headers: mine });
    const kept = await takeOver();
    held.letGo('slow');
    const last = (await lost).at(-1);
    expect(last).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error', message: TAKEN_OVER } },
    });
    await expectOnly(kept, (last?.['response'] as { readonly id: string }).id);
  });

  it('a turn that lost its session fails on a socket, and the connection does not remember it', async () => {
    await using client = await SocketClient.open(slow, { headers: mine });
    client.create({ input: 'slow' });
    const kept = await takeOver();
    held.letGo('slow');
    const { response } = await client.finish();
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error', message: TAKEN_OVER } });
    expect(await client.refusal({ input: 'On', previous_response_id: response.id })).toMatchObject({
      error: { code: 'previous_response_not_found' },
    });
    await expectOnly(kept, response.id);
  });

  it('a turn that lost its session to another replica is stopped when it finds out', async () => {
    const body = { model: 'scripted', input: 'slow' };
    const lost = collectStream(`${slow.baseURL}/responses`, body, { headers: mine });
    const kept = await takeOver();
    // The renewal that should have come long ago. The model is never let go.
    clock.advance(TTL_MS);
    const last = (await lost).at(-1);
    expect(last).toMatchObject({ type: 'response.failed' });
    const { id, error } = last?.['response'] as { readonly id: string; readonly error: { readonly message: string } };
    expect(error.message).toBe(TAKEN_OVER);
    held.letGo('slow');
    await expectOnly(kept, id);
  });
});

describe('a session that two replicas write to', () => {
  it('a session that two replicas write to has one writer at a time, and each sees what the one before made', async () => {
    await using replicas = await startReplicas({ providers: [ScriptedProvider] });
    const { one, two } = replicas;
    const held = new HeldTurns(one.app.get(ScriptedProvider)).hold();
    const first = new ApiClient(one.baseURL, mine).create({ input: 'first' });
    await held.whenBegun(1);
    const asked = whenAsked(two);
    const apiOfTwo = new ApiClient(two.baseURL, mine);
    const second = apiOfTwo.create({ input: 'second' });
    await asked;
    expect(two.app.get(ScriptedProvider).turns).toEqual([]);
    held.letGo('first');
    const made = [await first, await second].map(({ id }) => id);
    expect(await apiOfTwo.idsOf('sessions/mine/responses?order=asc')).toEqual(made);
    await apiOfTwo.create({ input: 'third', previous_response_id: made[0] });
    expect(transcript(two.app.get(ScriptedProvider).turns.at(-1)?.context ?? [])).toEqual([
      'user: first',
      'assistant: re first',
      'user: third',
    ]);
  });

  it('a session that one replica writes to is refused by the other when it waits too long', async () => {
    const environment = { SESSION_LOCK_TIMEOUT_MS: 30 };
    await using replicas = await startReplicas({ providers: [ScriptedProvider], environment });
    const held = new HeldTurns(replicas.one.app.get(ScriptedProvider)).hold();
    const first = new ApiClient(replicas.one.baseURL, mine).create({ input: 'first' });
    await held.whenBegun(1);
    const refused = await new ApiClient(replicas.two.baseURL, mine).post('responses', { model: 'm', input: 'second' });
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'session_locked' } } });
    held.letGo('first');
    await first;
  });
});
