import { request } from 'node:http';

import { expect, it } from '@jest/globals';

import { LibraryBackend, StoreUnavailableError } from '../../src/state/index.js';
import { MemoryFileStore } from '../../src/state/memory/files.js';
import { FakeClock } from '../../src/testing/index.js';
import { startService } from '../support/service.js';

const head = (name: string, file?: string): string =>
  `\r\n--b\r\ncontent-disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"`}\r\n\r\n`;

/** A service over a store whose content the test sees. */
async function start() {
  const store = new MemoryFileStore(new FakeClock(), 1_000_000);
  const service = await startService({ overrides: [[LibraryBackend, { files: store }]] });
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  const send = async (path: string, body: string): Promise<number> => {
    const answer = await fetch(`${service.baseURL}/${path}`, { method: 'POST', headers, body });
    await answer.body?.cancel();
    return answer.status;
  };
  const open = (path: string) => request(`${service.baseURL}/${path}`, { method: 'POST', headers });
  const { id } = await service
    .client()
    .uploads.create({ bytes: 3, filename: 'a', mime_type: 'text/plain', purpose: 'user_data' });
  const [asFile, asPart] = [
    { path: 'files', name: 'file' },
    { path: `uploads/${id}/parts`, name: 'data' },
  ];
  return { store, send, open, forms: [asFile, asPart], asPart, [Symbol.asyncDispose]: () => service.close() };
}

it('a file that has come whole is dropped when its form fails behind it', async () => {
  await using service = await start();
  const { store } = service;
  for (const { path, name } of service.forms) {
    const file = `${head(name, 'a.txt')}abc`;
    expect(await service.send(path, `${file}${head(name, 'b.txt')}xyz\r\n--b--\r\n`)).toBe(400);
    expect(await service.send(path, `${file}${head('purpose')}${'x'.repeat(5000)}\r\n--b--\r\n`)).toBe(400);
    expect(store.size).toBe(0);
  }
});

it('a file that has come whole is dropped when its client leaves before the form has ended', async () => {
  await using service = await start();
  const { store } = service;
  for (const { path, name } of service.forms) {
    const [appended, discarded] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const [append, discard] = [store.append.bind(store), store.discard.bind(store)];
    store.append = (...piece) => append(...piece).finally(() => appended.resolve(undefined));
    store.discard = (...draft) => discard(...draft).finally(() => discarded.resolve(undefined));
    const upload = service.open(path);
    upload.once('error', () => undefined);
    // The only piece is stored once the file has ended.
    upload.write(`${head(name, 'a.txt')}abc${head('purpose')}user`);
    await appended.promise;
    expect(store.size).toBe(3);
    upload.destroy();
    await discarded.promise;
    expect(store.size).toBe(0);
    Object.assign(store, { append, discard });
  }
});

it('a part that cannot be added is dropped', async () => {
  await using service = await start();
  const { store, asPart } = service;
  store.addPart = () => Promise.reject(new StoreUnavailableError('the database is busy'));
  expect(await service.send(asPart.path, `${head(asPart.name, 'a.txt')}abc\r\n--b--\r\n`)).toBe(503);
  expect(store.size).toBe(0);
});
