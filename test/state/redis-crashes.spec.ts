// Slow: opens each backend for each of its tests.

import { expect, it } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import type { Tenant } from '../../src/access/index.js';
import type { Job, QueueName, Run } from '../../src/state/index.js';
import type { RedisBackend } from '../../src/state/redis/index.js';
import { RedisKeys } from '../../src/state/redis/keys.js';
import { Deliveries, OPTIONS } from '../../src/testing/state/deliveries.js';
import { contextOf, newTenant, purge, START, TTL_MS } from '../../src/testing/state/records.js';
import { batch, begins, deltas, endingOf, enqueue, queuedOf, readAll } from '../../src/testing/state/runs.js';
import { describeRedis } from '../support/redis/describe-redis.js';
import { findKeys, removeKeys } from '../support/redis/remove-keys.js';
import { Death } from './redis-death.js';
import { openRedis, type OpenedRedis } from './redis-fixture.js';

const url = process.env['TEST_REDIS_URL'] ?? '';
/** One process after another looks after responses, in less time than this, ms. */
const SWEEP_MS = 6000;
const HOOK = { queue: 'webhooks', data: { told: 'a' } } as const;
/** Longer than a test lasts by its clock. */
const PATIENT = { ...OPTIONS, maxRunSeconds: 1_000_000 };

/** The replica that is left, which runs what it is given to the end. */
class Survivor {
  /** What it was given. */
  readonly turns: Job[] = [];
  readonly hooks: Job[] = [];
  private readonly backend: RedisBackend;
  private readonly keys: RedisKeys;

  constructor(
    private readonly opened: OpenedRedis,
    private readonly tenant: Tenant,
  ) {
    this.backend = opened.backend;
    this.keys = new RedisKeys(opened.prefix);
  }

  /** Resolves when everything has ended, and nobody has to look after anything any more. */
  async goOn(): Promise<void> {
    await this.opened.loseWorkers();
    const work = (queue: QueueName, handler: (job: Job) => Promise<void>): Promise<unknown> =>
      this.backend.jobs.work(queue, PATIENT, handler);
    await Promise.all([
      work('turns', (job) => this.run(job)),
      work('webhooks', async (job) => void this.hooks.push(job)),
    ]);
    const client = new Client(url);
    do {
      // It was taken by the dead one, by the clock of Redis.
      await client.del(this.keys.sweep);
      this.opened.clock.advance(SWEEP_MS);
    } while ((await client.zcard(this.keys.outbox)) > 0);
    client.disconnect();
    await this.opened.untilHeld(0);
  }

  /** Proves that nothing is left but what expires, and that nothing counts as queued. */
  async expectTidy(): Promise<void> {
    const { responses, runs } = this.backend;
    await runs.create(this.tenant, queuedOf('next'), { total: 1, perTenant: 1 });
    await responses.delete(this.tenant, 'next', { cascade: false });
    const found = await findKeys(url, `${this.opened.prefix}:*`);
    const client = new Client(url);
    for (const key of found.filter((name) => !name.includes('{jobs}'))) {
      expect([key, await client.pttl(key)]).toEqual([key, expect.any(Number)]);
      expect([key, await client.pttl(key)]).not.toEqual([key, -1]);
    }
    client.disconnect();
    this.opened.clock.advance(2 * TTL_MS);
    await purge(responses);
    expect(await this.opened.content()).toBe(0);
  }

  private async run(job: Job): Promise<void> {
    this.turns.push(job);
    const { runs, log } = this.backend;
    const run: Run = { tenant: this.tenant, responseId: 'a', attempt: job.attempt };
    const started = await runs.start(run);
    if (started === undefined) return;
    const next = started.log.firstEvent + started.log.events.length;
    if (next === 2) await log.append(run, batch(2, begins(2)));
    await runs.finish(run, endingOf('a', { at: Math.max(3, next), jobs: [HOOK] }));
  }
}

/** Proves that a response has ended once, and is found in every way. */
async function expectEnded({ backend }: OpenedRedis, tenant: Tenant, { hooks }: Survivor): Promise<void> {
  const { responses, graph, log } = backend;
  expect(await responses.get(tenant, 'a')).toMatchObject({ status: 'completed', output: [{ id: 'a-out' }] });
  const { data } = await graph.list(tenant, {}, { limit: 10, order: 'asc' });
  expect(data.map(({ id }) => id)).toEqual(['a']);
  expect(await contextOf(responses, tenant, 'a')).toEqual(['a-in', 'a-out']);
  expect([...(await responses.items(tenant, ['a-out'])).keys()]).toEqual(['a-out']);
  const { events, isLast } = await readAll(log, { tenant, responseId: 'a' });
  expect(events.map(({ sequenceNumber }) => sequenceNumber)).toEqual(events.map((_, index) => index));
  expect(events.filter(({ type }) => type === 'response.completed')).toHaveLength(1);
  expect(isLast).toBe(true);
  expect(hooks.map(({ data: told }) => told)).toEqual([HOOK.data]);
}

/** Tries what a replica does, which dies after 0, 1, 2 … of its commands, until it does not die any more. */
async function dieAfterEvery(attempt: (commands: number) => Promise<Death>): Promise<number> {
  for (let commands = 0; ; commands += 1) if (!(await attempt(commands)).hasHappened) return commands;
}

describeRedis('a replica that dies between any two commands', () => {
  it('a replica dies between any two commands while it creates a response: it is run to its end, or was never there', async () => {
    const outcomes = new Set<string>();
    const steps = await dieAfterEvery(async (commands) => {
      await using opened = await openRedis();
      const [tenant, victim] = [newTenant(), await opened.replica()];
      const death = new Death(victim, commands);
      const outcome = await death.during(enqueue(victim.runs, tenant, 'a'));
      const survivor = new Survivor(opened, tenant);
      await survivor.goOn();
      const isThere = (await opened.backend.responses.get(tenant, 'a')) !== undefined;
      outcomes.add(`${outcome}, ${isThere ? 'there' : 'not there'}`);
      if (outcome === 'done') expect([commands, isThere]).toEqual([commands, true]);
      expect([commands, survivor.turns.map(({ data }) => data)]).toEqual([commands, isThere ? [{ id: 'a' }] : []]);
      if (isThere) await expectEnded(opened, tenant, survivor);
      await survivor.expectTidy();
      return death;
    });
    expect(steps).toBeGreaterThan(5);
    expect(outcomes.has('done, there')).toBe(true);
  });

  it('a replica dies between any two commands while it ends a response: it ends once, and all that follows is done once', async () => {
    const steps = await dieAfterEvery(async (commands) => {
      await using opened = await openRedis();
      const [tenant, victim] = [newTenant(), await opened.replica()];
      const delivered = await Deliveries.of(victim.jobs, PATIENT);
      await enqueue(victim.runs, tenant, 'a');
      const { attempt } = await delivered.at(0);
      const run: Run = { tenant, responseId: 'a', attempt };
      await victim.runs.start(run);
      await victim.log.append(run, batch(2, begins(2)));
      await victim.log.append(run, deltas(3, 2));
      const death = new Death(victim, commands);
      const finish = async (): Promise<void> => {
        await victim.runs.finish(run, endingOf('a', { at: 5, jobs: [HOOK] }));
        await delivered.stop();
      };
      await death.during(finish());
      const survivor = new Survivor(opened, tenant);
      await survivor.goOn();
      await expectEnded(opened, tenant, survivor);
      await survivor.expectTidy();
      return death;
    });
    expect(steps).toBeGreaterThan(8);
  });
});

describeRedis('a queue whose keys are gone', () => {
  it.each([
    ['waits', 1],
    ['runs', 2],
  ])('a queue whose keys are gone is filled again with a response that %s', async (state, attempt) => {
    await using opened = await openRedis();
    const [tenant, victim] = [newTenant(), await opened.replica()];
    await enqueue(victim.runs, tenant, 'a');
    if (state === 'runs') {
      const run: Run = { tenant, responseId: 'a', attempt: (await (await Deliveries.of(victim.jobs)).at(0)).attempt };
      await victim.runs.start(run);
      await victim.log.append(run, batch(2, begins(2)));
      await victim.stop();
    }
    await removeKeys(url, `${opened.prefix}:{jobs}*`);
    const survivor = new Survivor(opened, tenant);
    await survivor.goOn();
    expect(survivor.turns.map((turn) => [turn.data, turn.attempt])).toEqual([[{ id: 'a' }, attempt]]);
    await expectEnded(opened, tenant, survivor);
    await survivor.expectTidy();
    expect(opened.clock.now()).toBeGreaterThan(START);
  });
});
