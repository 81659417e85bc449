import { createHash, randomBytes } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { describeService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const KEYS = { API_KEYS: 'ada:test,eve:other' };
const SMALL = { FILES_MAX_FILE_BYTES: '2000000', FILES_MAX_BYTES: '4000000', FILES_MAX_COUNT: '4' };

/** Longer than two pieces, and no multiple of one. */
const CONTENT = randomBytes(600_001);

describe.each(STATES)('files in $state', ({ open }) => {
  const start = () => startServiceIn(open, { environment: { ...KEYS, ...SMALL } });

  describeService('with the SDK', start, (service) => {
    const create = async (content: string | Buffer, name = 'a.txt', more: object = {}) =>
      service.client().files.create({
        file: await toFile(typeof content === 'string' ? Buffer.from(content) : content, name),
        purpose: 'user_data',
        ...more,
      });

    it('files are stored, read, listed and deleted', async () => {
      const files = service.client().files;
      const expiry = { anchor: 'created_at', seconds: 3600 } as const;
      const created = await create(CONTENT, 'räum 1.bin', { expires_after: expiry });
      expect(created).toMatchObject({
        ...{ object: 'file', bytes: CONTENT.length, filename: 'räum 1.bin', purpose: 'user_data' },
        ...{ status: 'processed', expires_at: created.created_at + 3600 },
      });
      expect(await files.retrieve(created.id)).toEqual(created);
      const content = await files.content(created.id);
      expect(content.headers.get('content-length')).toBe(String(CONTENT.length));
      expect(Buffer.from(await content.arrayBuffer()).equals(CONTENT)).toBe(true);
      const vision = await create('', 'empty.png', { purpose: 'vision' });
      expect(Buffer.from(await (await files.content(vision.id)).arrayBuffer())).toHaveLength(0);
      const idsOf = async (query: object): Promise<readonly string[]> => {
        const ids: string[] = [];
        for await (const { id } of files.list(query)) ids.push(id);
        return ids;
      };
      expect(await idsOf({ limit: 1, order: 'asc' })).toEqual([created.id, vision.id]);
      expect(await idsOf({ limit: 1 })).toEqual([vision.id, created.id]);
      expect(await idsOf({ purpose: 'vision' })).toEqual([vision.id]);
      // The cursor of the second page has just been deleted.
      for await (const { id } of files.list({ limit: 1 })) {
        expect(await files.delete(id)).toEqual({ id, object: 'file', deleted: true });
      }
      expect(await idsOf({})).toEqual([]);
      const gone = { status: 404, message: `404 File with id '${created.id}' not found.` };
      await expect(files.retrieve(created.id)).rejects.toMatchObject(gone);
      await expect(files.content(created.id)).rejects.toMatchObject(gone);
      await expect(files.delete(created.id)).rejects.toMatchObject(gone);
    });

    it('files are uploaded in parts, in the order that completes them', async () => {
      const { uploads, files } = service.client();
      const [first, second] = [CONTENT.subarray(0, 300_000), CONTENT.subarray(300_000)];
      const about = { filename: 'big.bin', mime_type: 'text/plain', purpose: 'user_data' } as const;
      const upload = await uploads.create({ ...about, bytes: CONTENT.length });
      expect(upload).toMatchObject({ object: 'upload', status: 'pending', expires_at: upload.created_at + 3600 });
      const add = async (data: Buffer) => (await uploads.parts.create(upload.id, { data: await toFile(data) })).id;
      const [late, early] = [await add(second), await add(first)];
      const md5 = createHash('md5').update(CONTENT).digest('hex');
      const complete = (part_ids: string[], digest = md5) => uploads.complete(upload.id, { part_ids, md5: digest });
      for (const [ids, param] of [
        [[early], 'part_ids'],
        [[early, 'part_none'], 'part_ids[1]'],
        [[early, early], 'part_ids'],
        [[late, early], 'md5'],
      ] as const) {
        await expect(complete([...ids])).rejects.toMatchObject({ status: 400, code: 'invalid_value', param });
      }
      const eve = service.client({ apiKey: 'other' }).uploads;
      await expect(eve.complete(upload.id, { part_ids: [early, late] })).rejects.toMatchObject({ status: 404 });
      const completed = await complete([early, late]);
      expect(completed).toMatchObject({ status: 'completed', file: { filename: 'big.bin', bytes: CONTENT.length } });
      // A client that has not got the answer asks again.
      expect(await complete([early, late])).toEqual(completed);
      const id = completed.file?.id ?? '';
      expect(Buffer.from(await (await files.content(id)).arrayBuffer()).equals(CONTENT)).toBe(true);
      await expect(uploads.cancel(upload.id)).rejects.toMatchObject({ status: 400 });
      await expect(add(first)).rejects.toMatchObject({ status: 400 });
      const other = await uploads.create({ ...about, bytes: 1 });
      const empty = uploads.parts.create(other.id, { data: await toFile(Buffer.alloc(0)) });
      await expect(empty).rejects.toMatchObject({ status: 400, code: 'invalid_value', param: 'data' });
      expect(await uploads.cancel(other.id)).toMatchObject({ id: other.id, status: 'cancelled' });
      await expect(uploads.complete(other.id, { part_ids: ['a'] })).rejects.toMatchObject({ status: 400 });
      await files.delete(id);
    });

    it('files belong to their tenant', async () => {
      const { id } = await create('mine');
      const eve = service.client({ apiKey: 'other' }).files;
      await expect(eve.retrieve(id)).rejects.toMatchObject({ status: 404 });
      await expect(eve.content(id)).rejects.toMatchObject({ status: 404 });
      await expect(eve.delete(id)).rejects.toMatchObject({ status: 404 });
      expect((await eve.list()).data).toEqual([]);
      await service.client().files.delete(id);
    });

    it('files are refused as the API refuses', async () => {
      const refusal = async (promise: Promise<unknown>) =>
        promise.then(
          () => 'accepted',
          (error: unknown) => {
            const { status, code, param } = error as Record<string, unknown>;
            return [status, code, param];
          },
        );
      expect(await refusal(create('a', 'a', { purpose: 'fun' }))).toEqual([400, 'invalid_value', 'purpose']);
      const expiry = { anchor: 'created_at', seconds: 1 };
      expect(await refusal(create('a', 'a', { expires_after: expiry }))).toEqual([
        ...[400, 'integer_below_min_value', 'expires_after.seconds'],
      ]);
      expect(await refusal(create(randomBytes(2_000_001)))).toEqual([413, 'request_too_large', null]);
      const files = await Promise.all([create(randomBytes(1_900_000)), create(randomBytes(1_900_000))]);
      expect(await refusal(create(randomBytes(1_000_000)))).toEqual([400, 'file_quota_exceeded', null]);
      const [third, fourth] = [await create('3'), await create('4')];
      expect(await refusal(create('5'))).toEqual([400, 'file_quota_exceeded', null]);
      // What was refused takes no room.
      for (const { id } of [...files, third, fourth]) await service.client().files.delete(id);
      await service.client().files.delete((await create(randomBytes(2_000_000))).id);
    });

    it('a misspelt field of a form is refused', async () => {
      const upload = await service.client().uploads.create({
        ...{ bytes: 1, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' },
      });
      for (const [path, file, field, param] of [
        ['/files', 'file', 'purpos', 'purpos'],
        ['/files', 'file', 'expires_after[secnds]', 'expires_after.secnds'],
        [`/uploads/${upload.id}/parts`, 'data', 'datas', 'datas'],
      ] as const) {
        const form = new FormData();
        if (file === 'file') form.set('purpose', 'user_data');
        form.set(field, '1');
        form.set(file, new Blob(['a']), 'a.txt');
        const headers = { authorization: 'Bearer test' };
        const answer = await fetch(service.baseURL + path, { method: 'POST', headers, body: form });
        const error = { code: 'unknown_parameter', param };
        expect([answer.status, await answer.json()]).toMatchObject([400, { error }]);
      }
      await service.client().uploads.cancel(upload.id);
    });

    it('files need a form that has them', async () => {
      const send = async (headers: Record<string, string>, body: string | FormData): Promise<readonly unknown[]> => {
        const options = { method: 'POST', headers: { authorization: 'Bearer test', ...headers }, body };
        const answer = await fetch(`${service.baseURL}/files`, options);
        const { error } = (await answer.json()) as { error: { code: string; param: string | null } };
        return [answer.status, error.code, error.param];
      };
      const form = new FormData();
      form.set('purpose', 'user_data');
      expect(await send({}, form)).toEqual([400, 'missing_required_parameter', 'file']);
      expect(await send({ 'content-type': 'application/json' }, '{}')).toEqual([415, 'unsupported_media_type', null]);
      form.set('file', 'a text');
      expect(await send({}, form)).toEqual([400, 'missing_required_parameter', 'file']);
      form.set('file', new Blob(['a']), 'a.txt');
      form.append('purpose', 'vision');
      expect(await send({}, form)).toEqual([400, 'invalid_value', 'purpose']);
      for (const [files, param, message] of [
        [['file', 'file'], 'file', "The form has the field 'file' twice: expected one value."],
        [['file', 'other'], null, "Expected one file, as 'file', but got 'other'."],
        [['file', 'file', 'file'], 'file', "The form has the field 'file' twice: expected one value."],
      ] as const) {
        const several = new FormData();
        several.set('purpose', 'user_data');
        for (const name of files) several.append(name, new Blob(['a']), 'a.txt');
        const headers = { authorization: 'Bearer test' };
        const answer = await fetch(`${service.baseURL}/files`, { method: 'POST', headers, body: several });
        const error = { code: 'invalid_value', param, message };
        expect([answer.status, await answer.json()]).toMatchObject([400, { error }]);
      }
      const boundary = { 'content-type': 'multipart/form-data; boundary=b' };
      expect(await send(boundary, '--b\r\nnonsense')).toEqual([400, 'invalid_value', null]);
      expect(await send({ 'content-type': 'multipart/form-data' }, '')).toEqual([400, 'invalid_value', null]);
    });

    it.each(['', '; filename="a.txt"'])(
      'a form with a part that has no name is refused: form-data%s',
      async (filename) => {
        const parts = ['; name="file"; filename="b.txt"', '; name="purpose"', filename];
        const whole = parts.map((part) => `--b\r\ncontent-disposition: form-data${part}\r\n\r\nuser_data\r\n`).join('');
        const headers = { authorization: 'Bearer test', 'content-type': 'multipart/form-data; boundary=b' };
        const answer = await fetch(`${service.baseURL}/files`, { method: 'POST', headers, body: `${whole}--b--\r\n` });
        const message = 'The body is not a valid form: a part has no name.';
        expect([answer.status, await answer.json()]).toMatchObject([
          400,
          { error: { code: 'invalid_value', message } },
        ]);
      },
    );
  });
});

it('a state that keeps no files says what it needs', async () => {
  const { LibraryBackend } = await import('../../src/state/index.js');
  await using service = await startService({ overrides: [[LibraryBackend, {}]] });
  await expect(service.client().files.list()).rejects.toMatchObject({
    ...{ status: 400, code: 'files_not_configured', message: expect.stringContaining('VECTOR_STORE_URL') },
  });
});
