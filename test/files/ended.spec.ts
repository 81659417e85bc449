import { Readable } from 'node:stream';

import { expect, it } from '@jest/globals';
import { toFile } from 'openai';

import type { Tenant } from '../../src/access/index.js';
import { FilesService } from '../../src/files/index.js';
import { Clock } from '../../src/index.js';
import { LibraryBackend } from '../../src/state/index.js';
import { MemoryFileStore } from '../../src/state/memory/files.js';
import { FakeClock } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { startService } from '../support/service.js';
import { EVERY_STATE } from '../support/state-backends.js';

const HOUR_S = 3600;

it('listeners are told of files that are deleted, before the answer, and of those that expire, until they succeed', async () => {
  const clock = new FakeClock();
  const store = new MemoryFileStore(clock, 1_000_000);
  await using service = await startService({
    environment: { API_KEYS: 'ada:test', PURGE_INTERVAL_MS: HOUR_S * 1000 },
    overrides: [
      [LibraryBackend, { files: store }],
      [Clock, clock],
    ],
  });
  const told: (readonly [tenant: string, id: string])[] = [];
  let fails = false;
  let next = Promise.withResolvers<undefined>();
  service.app.get(FilesService).onDeleted(async (tenant, id) => {
    told.push([tenant, id]);
    next.resolve(undefined);
    if (fails) throw new Error('the index is away');
  });
  const { files } = service.client();
  const create = async (more: object) =>
    (await files.create({ file: await toFile(Buffer.from('abc'), 'a.txt'), purpose: 'user_data', ...more })).id;
  const deleted = await create({});
  await files.delete(deleted);
  expect(told).toEqual([['ada', deleted]]);
  expect(store.size).toBe(0);
  const expiring = await create({ expires_after: { anchor: 'created_at', seconds: HOUR_S } });
  fails = true;
  next = Promise.withResolvers<undefined>();
  clock.advance(HOUR_S * 1000);
  await next.promise;
  expect(told.slice(1)).toEqual([['ada', expiring]]);
  await expect(files.retrieve(expiring)).rejects.toMatchObject({ status: 404 });
  // Nobody sees its content, which is still there.
  expect(store.size).toBe(3);
  fails = false;
  next = Promise.withResolvers<undefined>();
  const purged = Promise.withResolvers<undefined>();
  const purge = store.purge.bind(store);
  store.purge = () => purge().finally(() => store.size === 0 && purged.resolve(undefined));
  // Each step may begin a purge, once the one before has ended.
  while (told.length < 3) {
    clock.advance(HOUR_S * 1000);
    await Promise.race([next.promise, new Promise(setImmediate)]);
  }
  await purged.promise;
  expect(told.slice(2)).toEqual([['ada', expiring]]);
});

it('files whose listener always fails hold up none that ended after them, and are said once', async () => {
  const sqlite = EVERY_STATE.find(({ state }) => state === 'sqlite');
  await using state = await sqlite?.open();
  const clock = new FakeClock();
  await using service = await startService({
    environment: { ...state?.environment, PURGE_INTERVAL_MS: HOUR_S * 1000 },
    overrides: [[Clock, clock]],
  });
  const files = service.app.get(FilesService);
  using log = ServiceLog.begin();
  const expire = async (filename: string) => {
    const description = { filename, purpose: 'user_data', mimeType: null, ttl: HOUR_S };
    const draft = await files.receive('ada' as Tenant, 'file', Readable.from([]));
    return (await files.keep('ada' as Tenant, draft, description)).id;
  };
  // More than a batch of them.
  const failing = new Set<string>();
  for (let count = 0; count < 70; count += 1) failing.add(await expire('bad.txt'));
  clock.advance(60_000);
  const good = await expire('good.txt');
  const tries = new Map<string, number>();
  const [told, again] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  files.onDeleted(async (_, id) => {
    tries.set(id, (tries.get(id) ?? 0) + 1);
    if (id === good) told.resolve(undefined);
    if ([...failing].every((one) => (tries.get(one) ?? 0) > 1)) again.resolve(undefined);
    if (failing.has(id)) throw new Error('never');
  });
  clock.advance(2 * HOUR_S * 1000);
  await told.promise;
  expect([...failing].map((id) => tries.get(id))).toEqual([...failing].map(() => 1));
  while ((await Promise.race([again.promise.then(() => true), new Promise(setImmediate)])) !== true) {
    clock.advance(HOUR_S * 1000);
  }
  expect(tries.get(good)).toBe(1);
  expect(log.complaints).toHaveLength(failing.size);
});
