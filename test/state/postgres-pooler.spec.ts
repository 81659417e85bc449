import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Deliveries } from '../../src/testing/state/deliveries.js';
import { append, newTenant } from '../../src/testing/state/records.js';
import { enqueue, openPostgres, type OpenedPostgres } from './postgres-fixture.js';
import { type SentStatement, SentStatements } from './sent-statements.js';

const PAGE = { limit: 10, order: 'asc' } as const;

/** The settings that a client names when it connects to a server that then hangs up. */
async function startupSettings(connect: (port: number) => Promise<unknown>): Promise<readonly string[]> {
  const greeting = Promise.withResolvers<Buffer>();
  const server = createServer((socket: Socket) => {
    socket.once('data', (data) => {
      greeting.resolve(data);
      socket.destroy();
    });
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await connect((server.address() as AddressInfo).port).catch(() => undefined);
    // Four bytes of length and four of the version of the protocol, then names and values.
    const texts = (await greeting.promise).toString('utf8', 8).split('\0');
    return texts.filter((_, index) => index % 2 === 0).filter((name) => name !== '');
  } finally {
    server.close();
  }
}

describe('PostgreSQL behind a pooler', () => {
  let opened: OpenedPostgres;

  beforeAll(async () => {
    opened = await openPostgres();
  });
  afterAll(() => opened.close());

  const useEverything = async (direct: boolean): Promise<readonly SentStatement[]> => {
    using statements = new SentStatements();
    const { url } = opened.database;
    const backend = await opened.replica(direct ? { DATABASE_DIRECT_URL: url } : {});
    const tenant = newTenant();
    const { responses: store, graph, sessions, locks } = backend;
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a' });
    await store.get(tenant, 'a');
    await store.inputItems(tenant, 'a', PAGE);
    await store.items(tenant, ['a-in']);
    await store.check();
    await graph.list(tenant, {}, PAGE);
    await graph.tree(tenant, 'a', { depth: 1, limit: 2 });
    await sessions.hasAtLeast(tenant, 'a', 1);
    const lease = await locks.tryAcquire(tenant, 'a', 1000);
    await lease?.renew();
    await lease?.release();
    await sessions.fork(tenant, { sourceId: 'a', targetId: 'fork' });
    await store.delete(tenant, 'a', { cascade: true });
    await store.purge();
    const worker = await Deliveries.of(backend.jobs);
    await enqueue(backend, { queue: 'turns', data: {} });
    (await worker.at(0)).done();
    await worker.stop();
    await statements.whenListening();
    return statements.take();
  };

  it('a pooler is given no statements to keep', async () => {
    const sent = await useEverything(true);
    expect(sent.length).toBeGreaterThan(15);
    expect(sent.filter(({ name }) => name !== undefined)).toEqual([]);
  });

  it('a pooler is given no settings and nothing that outlives a transaction, except on the direct connection', async () => {
    const texts = (await useEverything(true)).map(({ text }) => text);
    const lasting = texts.filter((text) =>
      /^\s*(SET|LISTEN|PREPARE|DECLARE)\b|pg_advisory_lock|pg_try_advisory_lock/i.test(text),
    );
    expect(lasting).toEqual([expect.stringMatching(/^(LISTEN \w+(; |$))+$/)]);
  });

  it('a pooler is told its user and database when one connects, and nothing else', async () => {
    const names = await startupSettings(async (port) => {
      const url = new URL(opened.database.url);
      url.port = String(port);
      const backend = await opened.replica({ DATABASE_URL: url.href, DATABASE_DIRECT_URL: opened.database.url });
      await backend.responses.check();
    });
    expect([...names].sort()).toEqual(['client_encoding', 'database', 'user']);
  });

  it('PostgreSQL would be told more without a pooler', async () => {
    const sent = await useEverything(false);
    expect(sent.some(({ name }) => name === 'antiphon_get')).toBe(true);
  });
});
