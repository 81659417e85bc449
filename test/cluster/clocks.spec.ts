// Slow: starts the built service as several processes, and waits for the second attempt of webhooks.

import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { readSamples } from '../metrics/scrape.js';
import { createResponse, expectWhole, readOn } from '../support/background/background-client.js';
import { databaseTime, expectSince } from '../support/machine-clock.js';
import { endProcesses, type ServiceProcess, startProcess, startReplica } from '../support/process-service.js';
import { ONE_STATE, SHARED_STATES } from '../support/state-backends.js';
import { WebhookReceiver } from '../support/webhooks/webhook-receiver.js';

/** The variables of a process on such a machine; its workers see the same clock. */
function machineAhead(seconds: number): { readonly NODE_OPTIONS: string } {
  const source = `(${setClock.toString()})(${seconds * 1000})`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` };
}

/** Sets the clock that a process sees, but not what counts from its start, such as `performance.now()`. */
function setClock(aheadMs: number): void {
  const now = Date.now;
  Date.now = () => now() + aheadMs;
  globalThis.Date = new Proxy(Date, {
    construct: (target, parts, made) =>
      Reflect.construct(target, parts.length === 0 ? [Date.now()] : parts, made) as object,
  });
}

jest.setTimeout(240_000);

const FIVE_MINUTES_S = 300;
/** The pause before a webhook is sent again, ms (docs/webhooks.md). */
const PAUSE_MS = 10_000;
const TURNS = 12;

const TURN = { model: 'gpt-4.1', input: 'Hi', text: { verbosity: 'low' } };

afterEach(endProcesses);

function hooked(hooks: WebhookReceiver): Readonly<Record<string, string>> {
  return {
    WEBHOOK_URL: hooks.url,
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    WEBHOOK_ALLOW_LOOPBACK: 'true',
    // Only the receiver says when an attempt has failed.
    WEBHOOK_TIMEOUT_MS: '600000',
  };
}

describe.each(SHARED_STATES)('processes with $state, of which one is five minutes ahead and one behind', ({ open }) => {
  it('processes with different clocks run every background turn once, end it after it was created, and send a webhook again after its pause, whoever does', async () => {
    await using state = await open();
    await using hooks = await WebhookReceiver.open();
    // So long that others look at what runs, and may take it for lost.
    const environment = { ...state.environment, ...hooked(hooks), SIMULATOR_BACKGROUND_LATENCY: '3000/100' };
    const start = (ahead: number): Promise<ServiceProcess> =>
      startReplica({ ...environment, BACKGROUND_MAX_RUNNING: '6', ...machineAhead(ahead) });
    const deliveries = (id: string): number =>
      hooks.received.filter(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id === id).length;

    const asked = Promise.withResolvers<() => void>();
    hooks.answers.push((response) => asked.resolve(() => response.writeHead(500).end()));
    const late = await start(-FIVE_MINUTES_S);
    const begun = databaseTime();
    const refused = await createResponse(late, TURN);
    const refuse = await asked.promise;
    const early = await start(FIVE_MINUTES_S);
    const refusedAt = Date.now();
    refuse();
    const sentAgain = (async () => {
      while (deliveries(refused.id) < 2) await hooks.next;
      return Date.now();
    })();

    const of = (index: number): ServiceProcess => (index % 2 === 0 ? early : late);
    const made = await Promise.all(Array.from({ length: TURNS }, (_, index) => createResponse(of(index), TURN)));
    for (const [index, { id }] of made.entries()) {
      // Reads at the other one.
      const text = await readOn(of(index + 1), id);
      const { status, created_at, completed_at } = await expectWhole(of(index), id, text);
      expect(status).toBe('completed');
      expectSince(begun, created_at);
      expectSince(begun, Number(completed_at));
      expect(Number(completed_at)).toBeGreaterThanOrEqual(created_at + 2);
    }
    // Never earlier, however slow the machine is.
    expect((await sentAgain) - refusedAt).toBeGreaterThan(PAUSE_MS / 2);
    while (hooks.received.length < TURNS + 2) await hooks.next;
    for (const { headers } of hooks.received) expectSince(begun, Number(headers['webhook-timestamp']));
    expect(new Set(hooks.received.map(({ headers }) => headers['webhook-id'])).size).toBe(TURNS + 1);
  });
});

describe.each(ONE_STATE)('a service of two workers with $state on a machine that is ahead', ({ open }) => {
  it('a service on a machine that is ahead goes by the time of the database, and says how far it is off', async () => {
    await using state = await open();
    const service = await startProcess({
      ...state.environment,
      ...machineAhead(FIVE_MINUTES_S),
      ...{ WORKERS: '2', METRICS: 'true' },
    });
    await service.written(/\[Clock\] the clock of this machine is 300 s ahead of that of PostgreSQL, .*NTP/);
    const begun = databaseTime();
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.client.post(JSON.stringify(TURN))));
    for (const { text } of answers) {
      expectSince(begun, (JSON.parse(text) as { readonly created_at: number }).created_at);
    }
    const samples = readSamples((await service.client.send({ path: '/metrics' })).text);
    expect(samples.get('antiphon_clock_offset_seconds')).toBeCloseTo(-FIVE_MINUTES_S, 0);
  });
});

it('a clock has no offset with a state of its own', async () => {
  const service = await startProcess({ METRICS: 'true', ...machineAhead(FIVE_MINUTES_S) });
  const begun = databaseTime();
  const { text } = await service.client.post(JSON.stringify(TURN));
  expectSince(begun, (JSON.parse(text) as { readonly created_at: number }).created_at - FIVE_MINUTES_S);
  const samples = readSamples((await service.client.send({ path: '/metrics' })).text);
  expect(samples.has('antiphon_clock_offset_seconds')).toBe(false);
});
