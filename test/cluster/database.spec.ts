// Slow: starts the built service as several processes, and ends them.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Conversation, converse, makeConversations } from './conversations/conversation.js';
import { expectKept } from './conversations/expect-kept.js';
import { pause } from '../support/pause.js';
import { type Cluster, startCluster } from '../support/postgres/cluster.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';
import type { RawAnswer } from '../support/raw-client.js';
import { SocketClient } from '../support/socket-client.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** Longer than any test may take: what waits for it never ends by itself. */
const FOR_EVER = '600000';
const TURN = { model: 'gpt-4.1', input: 'Hi' };
const UNAVAILABLE = { type: 'service_unavailable_error', code: 'service_unavailable', param: null };

let cluster: Cluster;
let database: TestDatabase;

beforeAll(async () => {
  cluster = await startCluster();
});

beforeEach(async () => {
  await cluster.resume();
  database = await createEmptyDatabase(cluster.url());
});

afterEach(async () => {
  await endProcesses();
  await cluster.resume();
  await database.drop();
});

afterAll(() => cluster.stop());

function start(environment: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return startProcess({ STATE: 'postgres', DATABASE_URL: database.url, DRAIN_TIMEOUT_MS: FOR_EVER, ...environment });
}

/** Resolves when the service says that it can serve. */
async function ready({ client }: ServiceProcess): Promise<void> {
  while ((await client.send({ path: '/readyz' })).status !== 200) await pause();
}

function post({ client }: ServiceProcess, body: object): Promise<RawAnswer> {
  return client.post(JSON.stringify(body));
}

function expectUnavailable({ status, headers, text }: RawAnswer): void {
  expect({ status, body: JSON.parse(text) as unknown }).toMatchObject({ status: 503, body: { error: UNAVAILABLE } });
  expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
}

async function expectNotReady({ client }: ServiceProcess): Promise<void> {
  expect(await client.send({ path: '/readyz' })).toMatchObject({ status: 503, text: '{"status":"unavailable"}' });
  expect(await client.send({ path: '/healthz' })).toMatchObject({ status: 200, text: '{"status":"ok"}' });
}

async function expectOrderlyEnd(service: ServiceProcess): Promise<void> {
  service.kill('SIGTERM');
  const { code, signal, stderr } = await service.exited;
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  // A database that is away is no fault of the program.
  expect(stderr).not.toMatch(/\n\s+at /);
}

describe('a start while the database is away', () => {
  it('a start while the database is away says so, refuses what needs it, and serves by itself once it is there', async () => {
    await cluster.crash();
    const service = await start();
    await service.written(/the database is not available yet: .*ECONNREFUSED/);
    await expectNotReady(service);
    expectUnavailable(await post(service, TURN));
    expectUnavailable(await service.client.send({ path: '/v1/responses/resp_1' }));

    await cluster.resume();
    await ready(service);
    const conversation = new Conversation('first', { transport: 'sse', namesSession: true });
    await converse(service, [conversation]);
    expect(conversation.faults).toEqual([]);
    await expectKept(service.origin, [conversation]);
    await expectOrderlyEnd(service);
  });

  it('a start while the database is away ends in order when it is told to end meanwhile', async () => {
    await cluster.crash();
    const service = await start();
    await service.written(/the database is not available yet/);
    await expectOrderlyEnd(service);
  });
});

describe('a database that crashes while turns run', () => {
  it('turns wait for a database that crashes: nothing that was acknowledged is lost', async () => {
    // A lock that could not be given back to the database expires.
    const service = await start({ SESSION_LOCK_TTL_MS: '2000', SESSION_LOCK_TIMEOUT_MS: '100' });
    const conversations = makeConversations('led', 18);
    await using socket = await SocketClient.open(service);
    const crash = Promise.withResolvers<undefined>();
    const back = Promise.withResolvers<undefined>();
    let turns = 0;
    const led = converse(service, conversations, {
      onTurn: () => {
        turns += 1;
        if (turns === 24) crash.resolve(undefined);
      },
      beforeRetry: () => back.promise,
    });
    led.catch(() => undefined);
    await crash.promise;
    await cluster.crash();

    const known = conversations[0]?.exchanges[0]?.response.id ?? '';
    await expectNotReady(service);
    expectUnavailable(await post(service, TURN));
    expectUnavailable(await post(service, { ...TURN, previous_response_id: known }));
    expectUnavailable(await service.client.send({ path: `/v1/responses/${known}` }));
    expectUnavailable(await service.client.send({ method: 'DELETE', path: `/v1/responses/${known}` }));
    expect(await socket.refusal({ ...TURN, previous_response_id: known })).toMatchObject({
      status: 503,
      error: UNAVAILABLE,
    });
    expect(await post(service, { ...TURN, store: false })).toMatchObject({ status: 200 });

    await cluster.resume();
    await ready(service);
    back.resolve(undefined);
    await led;
    await expectKept(service.origin, conversations);
    await expectOrderlyEnd(service);
  });
});

describe('SIGTERM', () => {
  it('SIGTERM ends the process in order when the database has gone away', async () => {
    const service = await start();
    expect(await post(service, TURN)).toMatchObject({ status: 200 });
    await cluster.crash();
    await expectOrderlyEnd(service);
  });

  it('SIGTERM ends the process in order when the database answers no more to a turn that is to be saved', async () => {
    await using proxy = await TcpProxy.open(Number(new URL(database.url).port));
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const patience = { DRAIN_TIMEOUT_MS: '0', DATABASE_STATEMENT_TIMEOUT_MS: FOR_EVER };
    const service = await start({ DATABASE_URL: url.href, ...patience });
    expect(await post(service, TURN)).toMatchObject({ status: 200 });
    proxy.stall();
    // It cannot be saved: the statement waits for an answer.
    const stream = await service.client.stream(TURN);
    await stream.until('response.output_text.done');
    await expectOrderlyEnd(service);
  });
});
