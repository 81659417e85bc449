import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, StateBackend } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { WatchedClock } from '../support/clocks.js';

const DELAY_MS = 5000;
const DRAIN_MS = 7000;
const LIMIT_MS = 90_000;
/** What BACKGROUND_LEASE is by default. */
const LEASE_MS = 30_000;
const TURN = { model: 'scripted', input: 'Hi' };

/** Counts for ever when it is asked for a client. */
class SlowCounter extends ScriptedProvider {
  readonly asked = Promise.withResolvers<undefined>();

  override countTokens(...[turn, options]: Parameters<ScriptedProvider['countTokens']>): Promise<number> {
    if (options?.exact !== true) return super.countTokens(turn, options);
    this.asked.resolve(undefined);
    return new Promise(() => undefined);
  }
}

describe('a count of tokens', () => {
  const clock = new WatchedClock();
  const start = (): Promise<Service> =>
    startService({
      providers: [SlowCounter],
      environment: { SHUTDOWN_DELAY_MS: 0, DRAIN_TIMEOUT_MS: DRAIN_MS, MAX_TURN_MS: LIMIT_MS },
      overrides: [[Clock, clock]],
    });

  it('a count of tokens ends after MAX_TURN_MS, is waited for at shutdown until DRAIN_TIMEOUT_MS, and then refused', async () => {
    const service = await start();
    const api = new ApiClient(service.baseURL);
    const limited = clock.whenScheduled(LIMIT_MS);
    const late = api.post('responses/input_tokens', TURN);
    await limited;
    await service.app.get(SlowCounter).asked.promise;
    clock.advance(LIMIT_MS);
    expect(await late).toMatchObject({ status: 504, body: { error: { code: 'turn_time_limit_exceeded' } } });

    const begun = clock.whenScheduled(LIMIT_MS);
    const running = api.post('responses/input_tokens', TURN);
    await begun;
    const drained = clock.whenScheduled(DRAIN_MS);
    const closed = service.close();
    await drained;
    const refused = { status: 503, body: { error: { code: 'service_unavailable' } } };
    expect(await api.post('responses/input_tokens', TURN)).toMatchObject(refused);
    clock.letGo();
    clock.advance(DRAIN_MS);
    expect((await running).status).toBe(503);
    await closed;
  });
});

describe('a shutdown while the state answers nothing any more', () => {
  it('a shutdown while the state answers nothing refuses turns at once, and ends all the same', async () => {
    const clock = new WatchedClock();
    const never = (): Promise<never> => new Promise(() => undefined);
    const asked = Promise.withResolvers<undefined>();
    const claim = (): Promise<never> => {
      asked.resolve(undefined);
      return never();
    };
    const service = await startService({
      providers: [ScriptedProvider],
      environment: { SHUTDOWN_DELAY_MS: 0, DRAIN_TIMEOUT_MS: DRAIN_MS, LIMIT_CONCURRENT_TURNS: 2 },
      overrides: [[Clock, clock]],
    });
    const { usage, limits, vectorStores } = service.app.get(StateBackend);
    Object.assign(usage ?? {}, { record: never });
    Object.assign(limits ?? {}, { take: never, settle: never });
    Object.assign(vectorStores ?? {}, { claim });
    const api = new ApiClient(service.baseURL);
    const held = new HeldTurns(service.app.get(ScriptedProvider)).hold();
    // Its usage waits for others.
    const running = api.post('responses', { ...TURN, input: 'long', store: false });
    // The clock leaves no time for its last bytes.
    const cutOff = Promise.allSettled([running]);
    await held.whenBegun(1);
    // Files that wait for an index are looked for now and then.
    clock.advance(LEASE_MS / 3);
    await asked.promise;

    const drained = clock.whenScheduled(DRAIN_MS);
    const closed = service.close();
    await drained;
    expect((await fetch(`${service.origin}/readyz`)).status).toBe(503);
    expect((await api.post('responses', TURN)).status).toBe(503);
    clock.letGo();
    clock.advance(DRAIN_MS);
    await Promise.all([closed, cutOff]);
    held.letAllGo();
  });
});

describe('a shutdown while a turn is running', () => {
  let clock: WatchedClock;
  let service: Service;
  let api: ApiClient;
  let held: HeldTurns;
  let closed: Promise<void> | undefined;

  beforeEach(async () => {
    clock = new WatchedClock();
    service = await startService({
      providers: [ScriptedProvider],
      environment: { SHUTDOWN_DELAY_MS: DELAY_MS, DRAIN_TIMEOUT_MS: DRAIN_MS },
      overrides: [[Clock, clock]],
    });
    api = new ApiClient(service.baseURL);
    held = new HeldTurns(service.app.get(ScriptedProvider)).hold();
    closed = undefined;
  });

  afterEach(async () => {
    held.letAllGo();
    clock.letGo();
    clock.advance(DELAY_MS);
    await (closed ?? service.close());
  });

  const beginShutdown = async (): Promise<void> => {
    const delayed = clock.whenScheduled(DELAY_MS);
    closed = service.close();
    await delayed;
  };

  /** Shuts down as far as DRAIN_TIMEOUT_MS, which begins now. */
  const beginDrain = async (): Promise<void> => {
    await beginShutdown();
    const drained = clock.whenScheduled(DRAIN_MS);
    clock.advance(DELAY_MS);
    await drained;
  };

  it('the service that shuts down says no to balancers at once, serves on during SHUTDOWN_DELAY_MS, then refuses turns until it ends', async () => {
    const running = api.post('responses', { ...TURN, input: 'long' });
    await held.whenBegun(1);
    await using before = await SocketClient.open(service);
    await beginShutdown();

    const readiness = await fetch(`${service.origin}/readyz`);
    expect([readiness.status, await readiness.json()]).toEqual([503, { status: 'leaving' }]);
    expect((await fetch(`${service.origin}/healthz`)).status).toBe(200);
    expect((await api.create({})).status).toBe('completed');
    await using after = await SocketClient.open(service);
    for (const client of [before, after]) expect((await client.turn(TURN)).response.status).toBe('completed');

    clock.advance(DELAY_MS);
    for (const client of [before, after]) {
      expect(await client.closed).toEqual({ code: 1012, reason: 'service_restarting' });
    }
    for (const stream of [false, true]) {
      const { status, headers, body } = await api.post('responses', { ...TURN, stream });
      expect([status, headers.get('content-type')]).toEqual([503, 'application/json; charset=utf-8']);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(headers.get('x-request-id')).toMatch(/^req_/);
      expect(body).toEqual({
        error: {
          message: 'The server is shutting down. Please retry your request.',
          type: 'service_unavailable_error',
          param: null,
          code: 'service_unavailable',
        },
      });
    }
    held.letGo('long');
    expect(await running).toMatchObject({ status: 200, body: { object: 'response', status: 'completed' } });
    await closed;
  });

  it('a shutdown lets a JSON answer finish', async () => {
    const running = api.post('responses', { ...TURN, input: 'long' });
    await held.whenBegun(1);
    await beginDrain();
    clock.advance(DRAIN_MS - 1);
    held.letGo('long');
    expect(await running).toMatchObject({ status: 200, body: { object: 'response', status: 'completed' } });
    await closed;
  });

  it('a shutdown fails a JSON answer when it outlives DRAIN_TIMEOUT_MS', async () => {
    const running = api.post('responses', { ...TURN, input: 'long' });
    await held.whenBegun(1);
    await beginDrain();
    clock.advance(DRAIN_MS);
    expect(await running).toMatchObject({
      status: 200,
      body: {
        object: 'response',
        status: 'failed',
        error: { code: 'server_error', message: expect.stringContaining('shutting down') },
      },
    });
    held.letGo('long');
    await closed;
  });
});
