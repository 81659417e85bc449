import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type BackgroundRuns, ContextTooLargeError, type ResponseStore } from '../../src/state/index.js';
import { createConversation, openConversation, turnIn } from '../../src/testing/state/conversations.js';
import { contextFrom, contextOf, message, newTenant, recordOf } from '../../src/testing/state/records.js';
import { endingOf, enqueue } from '../../src/testing/state/runs.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';

/** An item of so many bytes as JSON. */
function itemOf(id: string, bytes: number): ReturnType<typeof message> {
  const empty = Buffer.byteLength(JSON.stringify(message(id, '')));
  return message(id, 'x'.repeat(bytes - empty));
}

describe('what one turn may bring back from PostgreSQL', () => {
  const MAX_BYTES = 10_000;
  let opened: OpenedPostgres;
  let store: ResponseStore;
  let runs: BackgroundRuns;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await openPostgres();
    ({ responses: store, runs } = await opened.replica({ CONTEXT_MAX_BYTES: MAX_BYTES }));
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  /** Saves a response of so many bytes, half of them input. */
  const save = async (id: string, bytes: number, parentId: string | null = null): Promise<void> => {
    const [input, output] = [[itemOf(`${id}-in`, bytes / 2)], [itemOf(`${id}-out`, bytes / 2)]];
    return store.save(tenant, recordOf(id, { parentId, input, output }));
  };

  it('a turn reads a conversation from PostgreSQL up to the limit, which counts all of it', async () => {
    await save('a', MAX_BYTES - 1000);
    await save('b', 1000, 'a');
    await save('c', 300, 'b');
    expect(await contextOf(store, tenant, 'b')).toEqual(contextFrom('a', 'b'));
    await expect(store.chain(tenant, 'c')).rejects.toBeInstanceOf(ContextTooLargeError);
    expect((await store.get(tenant, 'c'))?.id).toBe('c');
    expect((await store.inputItems(tenant, 'c', { limit: 1, order: 'asc' }))?.data).toHaveLength(1);
  });

  it('a turn reads the context of a background response from PostgreSQL up to the limit, which counts its input too', async () => {
    await save('a', MAX_BYTES - 1000);
    await enqueue(runs, tenant, 'b', { parentId: 'a', input: [itemOf('b-in', 1000)] });
    await enqueue(runs, tenant, 'c', { parentId: 'a', input: [itemOf('c-in', 1001)] });
    expect((await runs.start({ tenant, responseId: 'b', attempt: 1 }))?.context).toHaveLength(2);
    const start = runs.start({ tenant, responseId: 'c', attempt: 1 });
    await expect(start).rejects.toBeInstanceOf(ContextTooLargeError);
    // It can be ended as failed then.
    const failed = await runs.conclude(tenant, 'c', () => endingOf('c', { status: 'failed' }), { attempt: 1 });
    expect(failed).toMatchObject({ status: 'failed' });
  });

  it('the limit of what a turn reads from PostgreSQL counts what only descendants still need', async () => {
    await save('a', MAX_BYTES - 1000);
    await save('b', 1002, 'a');
    await store.delete(tenant, 'a', { cascade: false });
    await expect(store.chain(tenant, 'b')).rejects.toBeInstanceOf(ContextTooLargeError);
  });

  it('the limit of what a turn reads from PostgreSQL counts what a child keeps of a parent that is gone', async () => {
    const inherited = [itemOf('before', MAX_BYTES)];
    await store.save(tenant, recordOf('child', { parentId: 'gone', inherited }));
    await expect(store.chain(tenant, 'child')).rejects.toBeInstanceOf(ContextTooLargeError);
  });

  it('the limit of what a turn reads from PostgreSQL counts what a turn was given', async () => {
    const given = [{ after: 0, items: [itemOf('given', MAX_BYTES)] }];
    await store.save(tenant, recordOf('a', { given }));
    await expect(store.chain(tenant, 'a')).rejects.toBeInstanceOf(ContextTooLargeError);
    // It is no part of what pages are bounded by.
    const [row] = await opened.database.query('SELECT size FROM antiphon.responses WHERE owner = $1', [tenant]);
    expect(Number(row?.['size'])).toBeLessThan(1000);
  });

  it('the limit of what a turn reads from PostgreSQL counts bytes, not characters', async () => {
    const input = [message('wide', '東'.repeat(MAX_BYTES / 2))];
    await store.save(tenant, recordOf('a', { input }));
    await expect(store.chain(tenant, 'a')).rejects.toBeInstanceOf(ContextTooLargeError);
    await expect(store.items(tenant, ['wide'])).rejects.toBeInstanceOf(ContextTooLargeError);
  });

  it('a turn reads as many items from PostgreSQL as the limit allows', async () => {
    await save('a', MAX_BYTES);
    await save('b', 300);
    expect((await store.items(tenant, contextFrom('a'))).size).toBe(2);
    expect((await store.items(tenant, ['a-in', ...contextFrom('b'), 'nothing'])).size).toBe(3);
    await expect(store.items(tenant, contextFrom('a', 'b'))).rejects.toBeInstanceOf(ContextTooLargeError);
  });

  it('the client is told in terms of its request what is too large to read from PostgreSQL', async () => {
    await save('a', MAX_BYTES + 2);
    const parent: unknown = await store.chain(tenant, 'a').catch((error: unknown) => error);
    const references: unknown = await store.items(tenant, contextFrom('a')).catch((error: unknown) => error);
    const shown = { status: 400, code: 'context_length_exceeded' };
    expect((parent as ContextTooLargeError).toApiError()).toMatchObject({ ...shown, param: 'previous_response_id' });
    expect((references as ContextTooLargeError).toApiError()).toMatchObject({ ...shown, param: 'input' });
  });

  it('a turn reads a conversation with items up to the limit, and locks it only then', async () => {
    const backend = await opened.replica({ CONTEXT_MAX_BYTES: MAX_BYTES });
    const { conversations } = backend;
    const record = { id: 'c', createdAt: 1, metadata: {} };
    await conversations.create(tenant, record, [itemOf('a', MAX_BYTES - 300)]);
    await turnIn(backend, tenant, 'c', 'r', { input: [itemOf('r-in', 150)], output: [itemOf('r-out', 150)] });
    expect((await conversations.read(tenant, 'c'))?.items).toHaveLength(3);
    expect((await store.chain(tenant, 'r'))?.items).toHaveLength(3);
    expect(await conversations.append(tenant, 'c', [message('b')])).toBeUndefined();
    const refusal: unknown = await conversations.read(tenant, 'c').catch((error: unknown) => error);
    expect((refusal as ContextTooLargeError).toApiError()).toMatchObject({ status: 400, param: 'conversation' });
    await expect(conversations.open(tenant, 'c', { ttlMs: 60_000 })).rejects.toBeInstanceOf(ContextTooLargeError);
    // It is not locked, and counts no more than it has.
    expect(await conversations.deleteItem(tenant, 'c', 'b')).toEqual(record);
    const lease = await openConversation(backend, tenant, 'c');
    expect(lease.items).toHaveLength(3);
    await lease.release();
    // A client that has the items need not read them.
    await conversations.append(tenant, 'c', [message('b')]);
    const known = Number((await opened.database.query('SELECT version FROM antiphon.conversations'))[0]?.['version']);
    expect((await openConversation(backend, tenant, 'c', known)).items).toBeNull();
  });

  it('the limit of what a turn reads from PostgreSQL counts what a conversation had before a response and what continues that', async () => {
    const backend = await opened.replica({ CONTEXT_MAX_BYTES: MAX_BYTES });
    await createConversation(backend, tenant, 'c');
    await backend.conversations.append(tenant, 'c', [itemOf('a', MAX_BYTES - 300)]);
    await turnIn(backend, tenant, 'c', 'r', { input: [itemOf('r-in', 100)], output: [itemOf('r-out', 100)] });
    expect((await store.chain(tenant, 'r'))?.items).toHaveLength(3);
    await save('b', 300, 'r');
    await expect(store.chain(tenant, 'b')).rejects.toBeInstanceOf(ContextTooLargeError);
    await enqueue(runs, tenant, 'bg', { parentId: 'r', input: [itemOf('q', 300)] });
    const start = runs.start({ tenant, responseId: 'bg', attempt: 1 });
    await expect(start).rejects.toBeInstanceOf(ContextTooLargeError);
  });

  it('the limit of what a turn reads tells other tenants nothing', async () => {
    await save('a', MAX_BYTES + 2);
    expect(await store.chain(newTenant(), 'a')).toBeUndefined();
    expect(await store.chain(tenant, 'a', 'elsewhere')).toBeUndefined();
    expect(await store.items(newTenant(), contextFrom('a'))).toEqual(new Map());
  });
});
