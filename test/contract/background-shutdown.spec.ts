import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { RunningTurns } from '../../src/responses/index.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, framesOf, IN_BACKGROUND, replay, whenEnded, whenRunning } from '../support/background.js';
import { RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';
import { HeldTurns } from '../support/held-turns.js';
import { openPostgres, type TestState } from '../support/state-backends.js';

const TERMINAL = /^event: response\.(?:completed|failed|incomplete)$/gm;

describe('a shutdown in memory', () => {
  it('a shutdown fails queued turns, and those that outlive DRAIN_TIMEOUT_MS: all streams end', async () => {
    await using service = await startService({
      providers: [ScriptedProvider],
      environment: { BACKGROUND_MAX_RUNNING: 1, DRAIN_TIMEOUT_MS: 0 },
    });
    new HeldTurns(service.app.get(ScriptedProvider)).hold(2);
    const raw = new RawClient(service.port);
    const running = await raw.stream({ ...IN_BACKGROUND, input: 'running' });
    await running.until('response.output_text.delta');
    const queued = await raw.stream({ ...IN_BACKGROUND, input: 'queued' });
    await queued.until('response.queued');
    await service.close();
    for (const stream of [running, queued]) {
      const text = await stream.whole;
      expect(text.match(TERMINAL)).toEqual(['event: response.failed']);
      expect(text).toContain('The server is shutting down.');
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    }
    raw.close();
  });

  it('a shutdown lets a turn finish that ends within DRAIN_TIMEOUT_MS', async () => {
    await using service = await startService({
      providers: [ScriptedProvider],
      environment: { DRAIN_TIMEOUT_MS: 60_000 },
    });
    const held = new HeldTurns(service.app.get(ScriptedProvider)).hold();
    const raw = new RawClient(service.port);
    const running = await raw.stream({ ...IN_BACKGROUND });
    await running.until('response.output_text.delta');
    const closed = service.close();
    held.letGo('Hi');
    expect((await running.whole).match(TERMINAL)).toEqual(['event: response.completed']);
    raw.close();
    await closed;
  });
});

describe('a shutdown of one of two replicas', () => {
  let state: TestState;
  const services: Service[] = [];
  const raws: RawClient[] = [];

  beforeEach(async () => {
    state = await openPostgres();
  });
  afterEach(async () => {
    for (const raw of raws.splice(0)) raw.close();
    for (const service of services.splice(0)) await service.close();
    await state.drop();
  });

  /** Starts a replica whose model waits. */
  const start = async (environment: object): Promise<{ readonly service: Service; readonly held: HeldTurns }> => {
    const service = await startService({
      providers: [ScriptedProvider],
      environment: { ...state.environment, BACKGROUND_MAX_RUNNING: 1, ...environment },
    });
    services.push(service);
    return { service, held: new HeldTurns(service.app.get(ScriptedProvider)).hold(4) };
  };

  /** Shuts a replica down. */
  const leave = async (service: Service): Promise<void> => {
    services.splice(services.indexOf(service), 1);
    await service.close();
  };

  it('a shutdown leaves queued turns to the other replica, and lets the running one finish', async () => {
    const one = await start({ DRAIN_TIMEOUT_MS: 60_000 });
    const running = await createInBackground(one.service, { input: 'running' });
    await one.held.whenBegun(1);
    const queued = await createInBackground(one.service, { input: 'queued' });
    const left = leave(one.service);
    one.held.letGo('running');
    await left;
    const two = await start({});
    expect(await two.service.client().responses.retrieve(running.id)).toMatchObject({
      status: 'completed',
      output_text: 're running',
    });
    two.held.letGo('queued');
    expect(await whenEnded(two.service, queued.id)).toMatchObject({ status: 'completed', output_text: 're queued' });
    expect([one.held.begun, two.held.begun]).toEqual([['running'], ['queued']]);
  });

  it('a shutdown hands over a running turn, of which readers of the other replica see one unbroken stream', async () => {
    const one = await start({ DRAIN_TIMEOUT_MS: 0, BACKGROUND_MAX_ATTEMPTS: 1 });
    const raw = new RawClient(one.service.port);
    raws.push(raw);
    const creator = await raw.stream({ ...IN_BACKGROUND });
    const begun = await creator.until('response.output_text.delta');
    const id = /resp_\w+/.exec(begun)?.[0] ?? '';
    await whenRunning(one.service, id);
    const two = await start({ BACKGROUND_MAX_ATTEMPTS: 1 });
    const reader = replay(two.service, id);
    await leave(one.service);
    expect(one.service.app.get(RunningTurns).size).toBe(0);
    two.held.letGo('Hi');
    const text = await reader;
    // The creator saw the beginning of the same stream.
    const seen = framesOf(begun);
    expect(framesOf(text).slice(0, seen.length)).toEqual(seen);
    expect(text.match(TERMINAL)).toEqual(['event: response.completed']);
    const events = framesOf(text).map((frame) => JSON.parse(frame.slice(frame.indexOf('{'))) as object);
    checkEventOrder(events, { transport: 'sse' });
    // The half-written text is not part of the response.
    expect(await whenEnded(two.service, id)).toMatchObject({ status: 'completed', output_text: 're Hi' });
    expect(await replay(two.service, id)).toBe(text);
  });
});
