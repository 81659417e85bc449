// Slow: starts the built service as several processes, and ends them.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { SeededRandom } from '../../src/simulator/seeded-random.js';
import { Balancer } from './balancer.js';
import { Conversation, converse, faultsOf, makeConversations, TURNS } from './conversations/conversation.js';
import { expectKept } from './conversations/expect-kept.js';
import { sendJson, sendStream, type TurnFault } from './conversations/send-turn.js';
import { startNginx } from './nginx.js';
import { itWith } from '../support/tests-with-programs.js';
import { startPooler } from './pgbouncer.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ServiceProcess, startReplica } from '../support/process-service.js';
import { RawClient } from '../support/raw-client.js';

/** A turn that is running. */
interface RunningTurn {
  /** Resolves with what ended it. */
  readonly end: Promise<unknown>;
}

/** Begins a turn on a replica that never ends by itself; resolves once the model has begun to speak. */
async function beginForEver(replica: ServiceProcess, conversation: Conversation): Promise<RunningTurn> {
  const { body, headers } = conversation.request('This turn does not end.');
  const speaking = Promise.withResolvers<undefined>();
  const request = { body, headers: { ...headers, 'x-simulate': 'fault=stall; after=1' } };
  const end = sendStream(replica.origin, request, ({ type }) => {
    if (type === 'response.output_text.delta') speaking.resolve(undefined);
  }).catch((error: unknown) => error);
  const ended = await Promise.race([speaking.promise, end]);
  if (ended !== undefined) throw new Error('the turn ended before it could run', { cause: ended });
  return { end };
}

/** What clients reach, and which replica behind it is going to die. */
interface Scene {
  readonly balancer: { readonly port: number };
  readonly victim: ServiceProcess;
  /** Conversations that are led meanwhile, besides those that the death catches in the middle of a turn. */
  readonly count: number;
}

const CAUGHT = 4;

/**
 * Leads conversations, kills a replica with SIGKILL in the middle, some turns running on it for certain, and goes on until all
 * turns are acknowledged. Gives the conversations; none saw a fault before the death.
 */
async function loseReplica({ balancer, victim, count }: Scene): Promise<readonly Conversation[]> {
  const caught = Array.from({ length: CAUGHT }, (_, index) => {
    return new Conversation(`caught-${index}`, { transport: 'sse', namesSession: true });
  });
  await converse(balancer, caught, { turns: 1 });
  const conversations = makeConversations('led', count);
  const halfway = Promise.withResolvers<undefined>();
  let left = (count * TURNS) / 2;
  const onTurn = (): void => {
    left -= 1;
    if (left <= 0) halfway.resolve(undefined);
  };
  const led = converse(balancer, conversations, { onTurn });
  // What it rejects with is thrown when it is awaited.
  led.catch(() => undefined);
  await Promise.race([halfway.promise, led]);

  const running = await Promise.all(caught.map((conversation) => beginForEver(victim, conversation)));
  expect(faultsOf([...caught, ...conversations])).toEqual([]);
  victim.kill('SIGKILL');
  for (const [index, { end }] of running.entries()) {
    const fault = await end;
    expect(fault).toMatchObject({ kind: 'cut', responseId: expect.stringMatching(/^resp_/) });
    caught[index]?.faults.push(fault as TurnFault);
  }
  await Promise.all([led, converse(balancer, caught)]);
  return [...caught, ...conversations];
}

/** Short enough to wait for. */
const LOCKS = { SESSION_LOCK_TTL_MS: '2000', SESSION_LOCK_TIMEOUT_MS: '100' };
/** Leases that outlive a test unless it lets them expire. */
const LONG_LEASES = { SESSION_LOCK_TTL_MS: '600000' };

async function startTwo(
  environment: Readonly<Record<string, string>>,
): Promise<readonly [ServiceProcess, ServiceProcess]> {
  return Promise.all([startReplica({ ...LOCKS, ...environment }), startReplica({ ...LOCKS, ...environment })]);
}

/** A balancer that sends each request and each socket to any of these, the same in every run. */
function balanceAtRandom(replicas: readonly ServiceProcess[]): Promise<Balancer> {
  const random = new SeededRandom('replicas');
  return Balancer.open(
    replicas.map(({ port }) => port),
    { choose: (ports) => random.pick(ports) },
  );
}

async function turnsServedBy({ client }: ServiceProcess): Promise<number> {
  const { text } = await client.send({ path: '/simulator/stats' });
  return (JSON.parse(text) as { readonly requests: number }).requests;
}

/** Lets all leases on sessions expire, by the clock of the database. */
async function expireLeases(database: TestDatabase): Promise<void> {
  await database.query("UPDATE antiphon.session_locks SET expires_at = clock_timestamp() - interval '1 second'");
}

describe('two replicas with one database', () => {
  afterEach(endProcesses);

  it('two replicas with one database are as one, also while one is killed and replaced', async () => {
    await using database = await createTestDatabase();
    const environment = { DATABASE_URL: database.url };
    const [victim, survivor] = await startTwo(environment);
    await using balancer = await balanceAtRandom([victim, survivor]);

    const conversations = await loseReplica({ balancer, victim, count: 12 });
    expect({ signal: (await victim.exited).signal }).toEqual({ signal: 'SIGKILL' });
    const replacement = await startReplica({ ...LOCKS, ...environment }, victim.port);
    const later = makeConversations('later', 6);
    await converse(balancer, later);
    await converse(balancer, conversations, { turns: 1 });

    for (const replica of [survivor, replacement]) expect(await turnsServedBy(replica)).toBeGreaterThan(0);
    expect(faultsOf(later)).toEqual([]);
    await expectKept(balancer.origin, [...conversations, ...later]);
  });

  itWith('nginx', 'two replicas are as one behind nginx, also while one is killed', async (program) => {
    await using database = await createTestDatabase();
    const [victim, survivor] = await startTwo({ DATABASE_URL: database.url });
    await using nginx = await startNginx(program, [victim.port, survivor.port]);
    const conversations = await loseReplica({ balancer: nginx, victim, count: 12 });
    await expectKept(nginx.origin, conversations);
  });

  itWith(
    'nginx',
    'replicas lock out nobody but the client that guesses keys, behind nginx and a proxy before it',
    async (program) => {
      await using database = await createTestDatabase();
      const replicas = await startTwo({
        DATABASE_URL: database.url,
        ...{ API_KEYS: 'tenant:right', AUTH_FAILURES_PER_MINUTE: '3', TRUSTED_PROXIES: '127.0.0.1,127.0.0.9' },
      });
      const ports = replicas.map(({ port }) => port);
      await using nginx = await startNginx(program, ports);
      /** Lists models, as a client at an address does whose last proxy is at `from`. */
      const ask = async (key: string, from: string, before?: string): Promise<number> => {
        const client = new RawClient(nginx.port, '127.0.0.1', from);
        const headers: Record<string, string> = { authorization: `Bearer ${key}` };
        if (before !== undefined) headers['x-forwarded-for'] = before;
        const { status } = await client.send({ path: '/v1/models', headers });
        client.close();
        return status;
      };
      for (let guess = 0; guess < 3 * replicas.length + 1; guess += 1) await ask(`guess-${guess}`, '127.0.0.2');
      expect(await ask('right', '127.0.0.2')).toBe(429);
      expect(await ask('right', '127.0.0.3')).toBe(200);
      for (let guess = 0; guess < 3 * replicas.length + 1; guess += 1)
        await ask(`guess-${guess}`, '127.0.0.9', '203.0.113.1');
      expect(await ask('right', '127.0.0.9', '203.0.113.1')).toBe(429);
      expect(await ask('right', '127.0.0.9', '203.0.113.2')).toBe(200);
      expect(replicas.map(({ output }) => output()).join('')).not.toContain('x-forwarded-for');
    },
  );

  itWith(
    'pgbouncer',
    'two replicas are as one through a pooler in transaction mode, also while one is killed',
    async (program) => {
      await using database = await createTestDatabase();
      await using pooler = await startPooler(program, database.url);
      const environment = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url };
      const [victim, survivor] = await startTwo(environment);
      await using balancer = await balanceAtRandom([victim, survivor]);
      const conversations = await loseReplica({ balancer, victim, count: 12 });
      await expectKept(survivor.origin, conversations);
    },
  );
});

describe('a session that a replica is writing to', () => {
  let database: TestDatabase;
  let replicas: readonly [ServiceProcess, ServiceProcess];

  beforeAll(async () => {
    database = await createTestDatabase();
    const environment = { ...LOCKS, DATABASE_URL: database.url };
    // The first one soon notices that it has lost a lease.
    replicas = await Promise.all([startReplica(environment), startReplica({ ...environment, ...LONG_LEASES })]);
  });

  afterAll(async () => {
    await endProcesses();
    await database.drop();
  });

  const named = (name: string): Conversation => new Conversation(name, { transport: 'json', namesSession: true });

  it('a session is taken from a replica that stands still, which cannot save to it any more', async () => {
    const [sleeper, survivor] = replicas;
    const conversation = named('taken');
    await conversation.say(sleeper, 'Hello!');
    const { end } = await beginForEver(sleeper, conversation);
    sleeper.kill('SIGSTOP');
    await expireLeases(database);
    await conversation.say(survivor, 'Is anybody there?');
    sleeper.kill('SIGCONT');
    const fault = (await end) as TurnFault;
    expect(fault.kind).toBe('server_error');
    expect(fault.message).toContain('Another request took over the session.');
    const lost = await survivor.client.send({ path: `/v1/responses/${String(fault.responseId)}` });
    expect(lost.status).toBe(404);
    await conversation.say(sleeper, 'Welcome back.');
    await expectKept(survivor.origin, [conversation]);
  });

  // After it, one of them is gone.
  it('a session that a replica writes to is refused to others as long as that replica lives, and is free when its lease has expired', async () => {
    const [survivor, victim] = replicas;
    const conversation = named('refused');
    await conversation.say(victim, 'Hello!');
    const { end } = await beginForEver(victim, conversation);
    await expect(sendJson(survivor.origin, conversation.request('Me too.'))).rejects.toMatchObject({
      kind: 'session_locked',
    });
    victim.kill('SIGKILL');
    expect(await end).toMatchObject({ kind: 'cut' });
    await expect(sendJson(survivor.origin, conversation.request('Me too.'))).rejects.toMatchObject({
      kind: 'session_locked',
    });
    await expireLeases(database);
    await conversation.say(survivor, 'And now?');
    await expectKept(survivor.origin, [conversation]);
  });
});
