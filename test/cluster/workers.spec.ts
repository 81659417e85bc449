// Slow: starts the built service as several processes, and ends them.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { converse, faultsOf, makeConversations } from './conversations/conversation.js';
import { expectKept } from './conversations/expect-kept.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses } from '../support/process-service.js';
import { RawClient } from '../support/raw-client.js';
import { parentNotFound } from '../support/socket-client.js';
import { openSocketsOn, startWorkers, type WorkerProcesses } from './worker-processes.js';

const TURN = { model: 'gpt-4.1', input: 'Hi', text: { verbosity: 'low' } };

let database: TestDatabase;

async function begin(): Promise<void> {
  database = await createTestDatabase();
}

async function end(): Promise<void> {
  await endProcesses();
  await database.drop();
}

describe('a service of two workers', () => {
  let service: WorkerProcesses;

  beforeAll(async () => {
    await begin();
    service = await startWorkers(database.url, { SESSION_LOCK_TTL_MS: '2000', SESSION_LOCK_TIMEOUT_MS: '100' });
  });

  afterAll(end);

  it('a service of two workers serves with both, and with nobody else', async () => {
    const workers = service.workers();
    expect(new Set([...workers, service.pid]).size).toBe(3);
    await openSocketsOn(service, workers);
    const answers = await Promise.all(Array.from({ length: 32 }, () => service.client.post(JSON.stringify(TURN))));
    const served = await Promise.all(
      answers.map(({ text }) => service.workerOf((JSON.parse(text) as { readonly id: string }).id)),
    );
    expect([...new Set(served)].sort()).toEqual([...workers].sort());
  });

  it('a service of two workers keeps every conversation, whoever it goes on with', async () => {
    const conversations = makeConversations('led', 12);
    await converse(service, conversations);
    expect(faultsOf(conversations)).toEqual([]);
    await expectKept(service.origin, conversations);
  });

  it('a service of two workers continues on one socket what was said on another worker', async () => {
    const [one, other] = await openSocketsOn(service, service.workers());
    const ids: string[] = [];
    for (const client of [one, other, one, other]) {
      const turn = await client?.turn({ ...TURN, previous_response_id: ids.at(-1) ?? null });
      ids.push(turn?.response.id ?? '');
    }
    const served = await Promise.all(ids.map((id) => service.workerOf(id)));
    expect(served).toEqual([...service.workers(), ...service.workers()]);
  });

  it('a service of two workers tells the sockets of all workers what one of them deletes', async () => {
    const clients = await openSocketsOn(service, service.workers());
    // One connection, so that one worker deletes for both.
    const other = new RawClient(service.port);
    for (const client of clients) {
      const { id } = (await client.turn(TURN)).response;
      expect(await other.send({ method: 'DELETE', path: `/v1/responses/${id}` })).toMatchObject({ status: 200 });
      // On a lane of its own: what the connection remembers of the other one stays until the notice comes.
      const next = { ...TURN, stream_id: 'probe', store: false, previous_response_id: id };
      let refusal: unknown;
      while (refusal === undefined) await client.turn(next).catch((error: unknown) => (refusal = error));
      expect(refusal).toMatchObject({ status: 400, body: { error: parentNotFound(id).error } });
    }
    other.close();
  });

  /** Resolves when one worker more than now has begun to listen. */
  function replacement(): Promise<void> {
    return service.written(new RegExp(`(?:worker \\d+ listens[^]*){${service.workers().length + 1}}`));
  }

  // From here on, its workers are others.
  it('a worker that is killed leaves nobody waiting who was on the way to it', async () => {
    const victim = service.workers().at(-1) as number;
    process.kill(victim, 'SIGSTOP');
    // Its connections are all new: none leads to the victim already.
    const client = new RawClient(service.port);
    const outcomes: string[] = [];
    const served = Promise.withResolvers<undefined>();
    const asked = Array.from({ length: 8 }, async () => {
      const outcome = await client.send({ path: '/healthz' }).then(
        ({ text }) => text,
        () => 'cut',
      );
      if (outcomes.push(outcome) === 7) served.resolve(undefined);
    });
    // All but the one that was handed to the worker which does not take it.
    await served.promise;
    const replaced = replacement();
    process.kill(victim, 'SIGKILL');
    await Promise.all(asked);
    expect(outcomes).toEqual([...Array.from({ length: 7 }, () => '{"status":"ok"}'), 'cut']);
    client.close();
    await replaced;
  });

  it('a worker that is killed loses nothing that was acknowledged', async () => {
    const conversations = makeConversations('lost', 18);
    const victim = service.workers().at(-1) as number;
    const replaced = replacement();
    let turns = 0;
    const onTurn = (): void => {
      turns += 1;
      if (turns === 18) process.kill(victim, 'SIGKILL');
    };
    await converse(service, conversations, { onTurn });
    await replaced;
    await expectKept(service.origin, conversations);
  });
});

describe('a worker that is killed', () => {
  beforeEach(begin);
  afterEach(end);

  it('a worker that is killed takes only its own connections along, and is replaced', async () => {
    const service = await startWorkers(database.url, { SIMULATOR_LATENCY: '0/30' });
    const [victim, survivor] = service.workers() as [number, number];
    const [lost, kept] = await openSocketsOn(service, [victim, survivor]);
    for (const client of [lost, kept]) {
      client?.create({ ...TURN, text: { verbosity: 'medium' } });
      while ((await client?.next())?.type !== 'response.output_text.delta');
    }
    process.kill(victim, 'SIGKILL');
    expect(await lost?.closed).toMatchObject({ code: 1006 });
    while ((await kept?.next())?.type !== 'response.completed');
    await service.written(new RegExp(`worker ${victim} exited \\(SIGKILL\\)`));
    await service.written(/(?:worker \d+ listens[^]*){3}/);

    const newcomer = service.workers()[2] as number;
    expect([service.pid, victim, survivor]).not.toContain(newcomer);
    await openSocketsOn(service, [survivor, newcomer]);
    service.kill('SIGTERM');
    expect(await service.exited).toMatchObject({ code: 0, signal: null });
  });

  it('a worker that is killed leaves the port to its successors where the system hands connections out', async () => {
    const service = await startWorkers(database.url, { NODE_CLUSTER_SCHED_POLICY: 'none' });
    for (const [index, victim] of service.workers().entries()) {
      process.kill(victim, 'SIGKILL');
      await service.written(new RegExp(`(?:worker \\d+ listens[^]*){${index + 3}}`));
    }
    expect(await service.client.post(JSON.stringify(TURN))).toMatchObject({ status: 200 });
  });
});
