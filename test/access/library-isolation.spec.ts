import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { routesOf } from './routes-of.js';
import type { Service } from '../support/service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { bearer } from './keys.js';

const TEXT = 'Bees dance.';

/** Ids that a request names, by what stands for them. */
type Ids = Readonly<Record<'file' | 'upload' | 'part' | 'store' | 'batch', string>>;

/** A request with ids, and which of them is another tenant's or unknown. The others are the caller's own. */
type Attempt = readonly [
  method: string,
  path: string,
  foreign: keyof Ids,
  body?: ((ids: Ids) => unknown) | undefined,
  /** 404 unless given. */
  status?: number,
];

/** Every route with an id, by each of its ids, and the bodies that name some. */
const ATTEMPTS: readonly Attempt[] = [
  ['GET', 'files/:file', 'file'],
  ['DELETE', 'files/:file', 'file'],
  ['GET', 'files/:file/content', 'file'],
  ['POST', 'uploads/:upload/parts', 'upload', () => form()],
  ['POST', 'uploads/:upload/complete', 'upload', ({ part }) => ({ part_ids: [part] })],
  ['POST', 'uploads/:upload/complete', 'part', ({ part }) => ({ part_ids: [part] }), 400],
  ['POST', 'uploads/:upload/cancel', 'upload'],
  ['GET', 'vector_stores/:store', 'store'],
  ['POST', 'vector_stores/:store', 'store', () => ({ name: 'Mine' })],
  ['DELETE', 'vector_stores/:store', 'store'],
  ['POST', 'vector_stores/:store/search', 'store', () => ({ query: 'bees' })],
  ['POST', 'vector_stores', 'file', ({ file }) => ({ file_ids: [file] })],
  ['GET', 'vector_stores/:store/files', 'store'],
  ['POST', 'vector_stores/:store/files', 'store', ({ file }) => ({ file_id: file })],
  ['POST', 'vector_stores/:store/files', 'file', ({ file }) => ({ file_id: file })],
  ['GET', 'vector_stores/:store/files/:file', 'store'],
  ['GET', 'vector_stores/:store/files/:file', 'file'],
  ['POST', 'vector_stores/:store/files/:file', 'store', () => ({ attributes: { a: 1 } })],
  ['POST', 'vector_stores/:store/files/:file', 'file', () => ({ attributes: { a: 1 } })],
  ['DELETE', 'vector_stores/:store/files/:file', 'store'],
  ['DELETE', 'vector_stores/:store/files/:file', 'file'],
  ['GET', 'vector_stores/:store/files/:file/content', 'store'],
  ['GET', 'vector_stores/:store/files/:file/content', 'file'],
  ['POST', 'vector_stores/:store/file_batches', 'store', ({ file }) => ({ file_ids: [file] })],
  ['POST', 'vector_stores/:store/file_batches', 'file', ({ file }) => ({ file_ids: [file] })],
  ['GET', 'vector_stores/:store/file_batches/:batch', 'store'],
  ['GET', 'vector_stores/:store/file_batches/:batch', 'batch'],
  ['POST', 'vector_stores/:store/file_batches/:batch/cancel', 'store'],
  ['POST', 'vector_stores/:store/file_batches/:batch/cancel', 'batch'],
  ['GET', 'vector_stores/:store/file_batches/:batch/files', 'store'],
  ['GET', 'vector_stores/:store/file_batches/:batch/files', 'batch'],
  ['POST', 'responses', 'file', ({ file }) => turn([{ type: 'input_file', file_id: file }]), 400],
  ['POST', 'responses', 'file', ({ file }) => turn([{ type: 'input_image', file_id: file, detail: 'auto' }]), 400],
  ['POST', 'responses', 'store', ({ store }) => turn([], [{ type: 'file_search', vector_store_ids: [store] }])],
];

describe.each(STATES)('files, uploads and vector stores of another tenant in $state', ({ open }) => {
  let service: Service;
  let theirs: Ids;
  let own: Ids;

  beforeAll(async () => {
    const environment = { API_KEYS: 'ada:ada-key,eve:eve-key' };
    service = await startServiceIn(open, { environment });
    [theirs, own] = await Promise.all([fill('ada-key'), fill('eve-key')]);
  });
  afterAll(() => service.close());

  /** What a tenant has. */
  async function fill(apiKey: string): Promise<Ids> {
    const { files, uploads, vectorStores } = service.client({ apiKey });
    const text = await toFile(Buffer.from(TEXT), 'bees.txt');
    const { id: file } = await files.create({ file: text, purpose: 'assistants' });
    const about = { filename: 'a.txt', mime_type: 'text/plain', purpose: 'assistants' } as const;
    const { id: upload } = await uploads.create({ bytes: TEXT.length, ...about });
    const { id: part } = await uploads.parts.create(upload, { data: text });
    const { id: store } = await vectorStores.create({ name: 'Theirs' });
    const { id: batch } = await vectorStores.fileBatches.createAndPoll(
      store,
      { file_ids: [file] },
      { pollIntervalMs: 5 },
    );
    return { file, upload, part, store, batch };
  }

  /** What is seen of everything that a tenant has. */
  async function look(apiKey: string, { file, upload, store, batch }: Ids): Promise<unknown> {
    const { files, vectorStores } = service.client({ apiKey });
    return {
      file: await files.retrieve(file),
      content: await (await files.content(file)).text(),
      files: (await files.list()).data,
      stores: (await vectorStores.list()).data.map(({ last_active_at: _, expires_at: __, ...rest }) => rest),
      storeFile: await vectorStores.files.retrieve(file, { vector_store_id: store }),
      batch: await vectorStores.fileBatches.retrieve(batch, { vector_store_id: store }),
      // It is pending, and has its part.
      upload: await ask('POST', `uploads/${upload}/complete`, { part_ids: [] }, apiKey),
    };
  }

  async function ask(method: string, path: string, body: unknown, key: string): Promise<readonly [number, string]> {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${service.baseURL}/${path}`, {
      method,
      headers: { ...bearer(key), ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    return [answer.status, await answer.text()];
  }

  it('what another tenant has is asked for by every route that takes an id', () => {
    const known = new Set(ATTEMPTS.map(([method, path]) => `${method} ${path.replace(/:\w+/g, ':id')}`));
    const routes = routesOf(service)
      .map((route) => route.replace(/:\w+/g, ':id'))
      .filter((route) => /^(?:GET|POST|DELETE) (?:files|uploads|vector_stores)\/:id/.test(route));
    expect(routes.length).toBeGreaterThan(15);
    expect(routes.filter((route) => !known.has(route))).toEqual([]);
  });

  it.each(ATTEMPTS)(
    'what another tenant has is answered as what there is not: %s %s, by the id of a %s',
    async (...[method, path, foreign, body, status = 404]: Attempt) => {
      const before = await look('ada-key', theirs);
      const unknown = `${theirs[foreign].slice(0, -6)}000000`;
      const answerTo = async (id: string): Promise<readonly [number, string]> => {
        const ids = { ...own, [foreign]: id };
        const place = path.replace(/:(\w+)/g, (_, name: keyof Ids) => ids[name]);
        const [answered, text] = await ask(method, place, body?.(ids), 'eve-key');
        return [answered, text.replaceAll(id, 'ID')];
      };
      const answer = await answerTo(theirs[foreign]);
      expect(answer[0]).toBe(status);
      expect(answer).toEqual(await answerTo(unknown));
      for (const secret of [TEXT, 'bees.txt', 'Theirs']) expect(answer[1]).not.toContain(secret);
      expect(await look('ada-key', theirs)).toEqual(before);
    },
  );

  it('what another tenant has is in none of the lists of a tenant', async () => {
    const { files, vectorStores } = service.client({ apiKey: 'eve-key' });
    expect((await files.list()).data.map(({ id }) => id)).toEqual([own.file]);
    expect((await vectorStores.list()).data.map(({ id }) => id)).toEqual([own.store]);
    const isUnknown = { status: 400, param: 'after' };
    await expect(files.list({ after: theirs.file })).rejects.toMatchObject(isUnknown);
    await expect(vectorStores.list({ after: theirs.store })).rejects.toMatchObject(isUnknown);
  });
});

function turn(content: readonly object[], tools: readonly object[] = []): object {
  const text = { type: 'input_text', text: 'What is this?' };
  return { model: 'echo', input: [{ role: 'user', content: [...content, text] }], tools };
}

function form(): FormData {
  const body = new FormData();
  body.append('data', new Blob(['x']), 'part');
  return body;
}
