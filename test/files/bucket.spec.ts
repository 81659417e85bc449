// Slow: has many clients read nothing of large files.

import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { Logger } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { toFile } from 'openai';

import { Bucket } from '../../src/state/s3/index.js';
import { FakeClock } from '../../src/testing/index.js';
import { SystemClock } from '../../src/time/index.js';
import { CREDENTIALS, FakeS3 } from '../support/s3/fake-s3.js';
import { type Service, startService } from '../support/service.js';
import { EVERY_STATE, startServiceIn } from '../support/state-backends.js';

const MEGABYTE = 1024 * 1024;

/** No object of 4 MiB fits in a quarter of it. */
const SCARCE = {
  BODY_TOTAL_BYTES: String(8 * MEGABYTE),
  BODY_LIMIT_BYTES: String(MEGABYTE),
  WS_MAX_MESSAGE_BYTES: String(MEGABYTE),
};

const isUnavailable = { status: 503, code: 'service_unavailable' };

describe.each(EVERY_STATE.filter(({ state }) => state === 'sqlite' || state === 'postgres'))(
  'a service with a bucket and STATE=$state',
  ({ open }) => {
    let s3: FakeS3;
    let service: Service;

    beforeAll(async () => {
      s3 = await FakeS3.start();
      // Objects go with the purge. What ends a call is never that the bucket was slow.
      const environment = { ...s3.environment, METRICS: 'true', PURGE_INTERVAL_MS: '20', S3_TIMEOUT_MS: '600000' };
      service = await startServiceIn(open, { environment });
    });
    afterEach(async () => {
      s3.misbehave = () => undefined;
      s3.breakHeld();
      await s3.emptied();
    });
    afterAll(async () => {
      await service.close();
      await s3[Symbol.asyncDispose]();
    });

    async function upload(bytes: Buffer): Promise<string> {
      const { id } = await service.client().files.create({ file: await toFile(bytes, 'a.bin'), purpose: 'user_data' });
      return id;
    }

    async function download(id: string): Promise<Buffer> {
      return Buffer.from(await (await service.client().files.content(id)).arrayBuffer());
    }

    const condition = async (): Promise<unknown> =>
      ((await (await fetch(`${service.origin}/readyz?verbose`)).json()) as { readonly object_storage?: unknown })
        .object_storage;

    it('a service with a bucket keeps the bytes of files in objects of at most 4 MiB, and nothing of a deleted file', async () => {
      const bytes = randomBytes(9 * MEGABYTE);
      const id = await upload(bytes);
      expect([...s3.objects.values()].map(({ length }) => length).sort()).toEqual([
        MEGABYTE,
        4 * MEGABYTE,
        4 * MEGABYTE,
      ]);
      expect([...s3.objects.keys()].every((name) => /^test\/[0-9a-f-]{36}$/.test(name))).toBe(true);
      expect((await download(id)).equals(bytes)).toBe(true);
      await service.client().files.delete(id);
      await s3.emptied();
    });

    it('a service with a bucket keeps the parts of an upload there, and joins them without a copy', async () => {
      const { uploads } = service.client();
      const parts = [Buffer.from('Bees '), Buffer.from('dance.')];
      const about = { filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' } as const;
      const { id } = await uploads.create({ bytes: 11, ...about });
      const ids: string[] = [];
      for (const part of parts) ids.push((await uploads.parts.create(id, { data: await toFile(part, 'part') })).id);
      const written = [...s3.objects.keys()];
      const { file } = await uploads.complete(id, { part_ids: ids });
      expect(String(await download(file?.id ?? ''))).toBe('Bees dance.');
      expect([...s3.objects.keys()]).toEqual(written);
      await service.client().files.delete(file?.id ?? '');
      await s3.emptied();
    });

    it('a service with a bucket tries again what the bucket refuses for a moment', async () => {
      let refused = 0;
      s3.misbehave = (request) => {
        if (!request.startsWith('PUT') || refused === 2) return undefined;
        refused += 1;
        return refused === 1 ? { status: 503, code: 'SlowDown' } : { status: 500, code: 'InternalError' };
      };
      const id = await upload(Buffer.from('in the end'));
      expect(String(await download(id))).toBe('in the end');
      await service.client().files.delete(id);
    });

    it.each([
      ['the bucket does not exist', { status: 404, code: 'NoSuchBucket' } as const, 'NoSuchBucket (404)'],
      ['the bucket refuses the key', { status: 403, code: 'AccessDenied' } as const, 'AccessDenied (403)'],
      ['the bucket fails', { status: 500, code: 'InternalError' } as const, 'InternalError (500)'],
    ])(
      'a service with a bucket answers 503 while %s, says why, and keeps nothing of the file',
      async (_case, misbehaviour, reason) => {
        const warn = jest.spyOn(Logger.prototype, 'warn');
        const kept = await upload(Buffer.from(`kept while ${reason}`));
        s3.misbehave = () => misbehaviour;
        await expect(upload(Buffer.from('lost'))).rejects.toMatchObject(isUnavailable);
        await expect(download(kept)).rejects.toBeDefined();
        const refused = await fetch(`${service.baseURL}/files`, { method: 'POST', body: form('lost') });
        expect(refused.status).toBe(503);
        expect(refused.headers.get('retry-after')).toBe('1');
        const text = await refused.text();
        expect(await condition()).toEqual({ bucket: 'files', error: reason });
        expect(warn.mock.calls.flat()).toContain(`the bucket files is not available: ${reason}`);
        const said = `${text} ${warn.mock.calls.flat().join(' ')}`;
        for (const secret of Object.values(CREDENTIALS)) expect(said).not.toContain(secret);
        warn.mockRestore();
        s3.misbehave = () => undefined;
        expect(String(await download(kept))).toBe(`kept while ${reason}`);
        expect(await condition()).toEqual({ bucket: 'files', error: null });
        await service.client().files.delete(kept);
        expect((await service.client().files.list()).data).toEqual([]);
      },
    );

    it('a service with a bucket deletes a file while the bucket is away, and its object when it is back', async () => {
      const id = await upload(Buffer.from('short-lived'));
      s3.misbehave = () => ({ status: 403, code: 'AccessDenied' });
      expect(await service.client().files.delete(id)).toMatchObject({ deleted: true });
      expect(s3.objects.size).toBe(1);
      s3.misbehave = () => undefined;
      await s3.emptied();
    });

    it('a service with a bucket that answers no deletion deletes and stores files at once, and their objects later', async () => {
      const id = await upload(Buffer.from('not waited for'));
      s3.misbehave = (request) => (request.startsWith('DELETE') ? 'silence' : undefined);
      const givenUp = s3.abandoned().then(() => 'the bucket was given up before');
      const deletion = service.client().files.delete(id);
      expect(await Promise.race([deletion, givenUp])).toMatchObject({ deleted: true });
      expect(s3.objects.size).toBe(1);
      const another = await upload(Buffer.from('another'));
      expect(await Promise.race([service.client().files.delete(another), givenUp])).toMatchObject({ deleted: true });
      s3.misbehave = () => undefined;
      s3.breakHeld();
      await s3.emptied();
    });

    it('a service with a bucket ends the transfer from the bucket when the client of a file leaves', async () => {
      const id = await upload(randomBytes(6 * MEGABYTE));
      const abandoned = s3.abandoned();
      const { promise: isAsked, resolve: asked } = Promise.withResolvers<undefined>();
      let reads = 0;
      s3.misbehave = (request) => {
        if (!request.startsWith('GET')) return undefined;
        reads += 1;
        if (reads < 2) return undefined;
        asked(undefined);
        return 'half';
      };
      const client = connect(service.port, '127.0.0.1').resume();
      client.write(`GET /v1/files/${id}/content HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
      await isAsked;
      // One that only ends its side may have half-closed.
      client.resetAndDestroy();
      await abandoned;
      s3.misbehave = () => undefined;
      await service.client().files.delete(id);
    });

    it('a service with a bucket stores equal bytes of a tenant once, and of each tenant apart', async () => {
      const ids = [await upload(Buffer.from('equal')), await upload(Buffer.from('equal'))];
      expect(s3.objects.size).toBe(1);
      await service.client().files.delete(ids[0] ?? '');
      expect(String(await download(ids[1] ?? ''))).toBe('equal');
      await service.client().files.delete(ids[1] ?? '');
      await s3.emptied();
    });

    it('a service with a bucket that has lost an object answers 503, until somebody of the tenant uploads its bytes again', async () => {
      const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
      const id = await upload(Buffer.from('lost'));
      s3.objects.clear();
      const refused = await fetch(`${service.baseURL}/files/${id}/content`).then(
        async (answer) => answer.text(),
        String,
      );
      expect(refused).not.toContain('lost');
      expect(error.mock.calls.flat()).toContainEqual(expect.stringContaining(`${id} cannot be read`));
      error.mockRestore();
      const again = await upload(Buffer.from('lost'));
      expect([String(await download(id)), String(await download(again))]).toEqual(['lost', 'lost']);
      for (const each of [id, again]) await service.client().files.delete(each);
    });

    it('a service with a bucket measures the calls of the bucket', async () => {
      await service.client().files.delete(await upload(Buffer.from('measured')));
      const measured = async (call: string): Promise<boolean> => {
        const text = await (await fetch(`${service.origin}/metrics`)).text();
        return text.includes(`antiphon_state_call_seconds_count{operation="objects.${call}",outcome="ok"}`);
      };
      expect(await measured('put')).toBe(true);
      // The object goes with the next purge.
      while (!(await measured('delete')));
    });
  },
);

describe('a service with a bucket to which it has two connections', () => {
  const IDLE_READERS = 8;

  it.each([
    ['whose objects are in memory until they are taken', {}, false],
    ['whose objects are read in small parts, since there is no memory for them', SCARCE, true],
  ])(
    'a service with a bucket %s serves others while many clients read nothing of what they asked for',
    async (_case, more, isInParts) => {
      await using s3 = await FakeS3.start();
      // What waits for a connection in vain fails within the test.
      const limits = { S3_MAX_CONNECTIONS: '2', S3_TIMEOUT_MS: '10000', ...more };
      const [sqlite] = EVERY_STATE.filter(({ state }) => state === 'sqlite');
      if (sqlite === undefined) throw new Error('there is no STATE=sqlite');
      await using service = await startServiceIn(sqlite.open, { environment: { ...s3.environment, ...limits } });
      const { files } = service.client();
      const long = Buffer.alloc(24 * MEGABYTE, 'long');
      const upload = async (bytes: Buffer): Promise<string> =>
        (await files.create({ file: await toFile(bytes, 'a.bin'), purpose: 'user_data' })).id;
      const id = await upload(long);
      const leave = new AbortController();
      const open = (): Promise<Response> => fetch(`${service.baseURL}/files/${id}/content`, { signal: leave.signal });
      const answers = await Promise.all(Array.from({ length: IDLE_READERS }, open));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const before = new Set(s3.objects.keys());
      const another = await upload(randomBytes(5 * MEGABYTE));
      const own = [...s3.objects.keys()].filter((name) => !before.has(name)).map((name) => `GET ${name}`);
      expect((await (await files.content(another)).arrayBuffer()).byteLength).toBe(5 * MEGABYTE);
      const requests = s3.requests.filter((request) => own.includes(request));
      expect(requests.length > own.length).toBe(isInParts);
      // Those who begin to read get everything.
      expect(Buffer.from((await answers[0]?.arrayBuffer()) ?? new ArrayBuffer()).equals(long)).toBe(true);
      leave.abort();
    },
  );
});

it('a service does not start with a bucket where nothing keeps what is known of files', async () => {
  const environment = { S3_BUCKET: 'files' };
  await expect(startService({ environment })).rejects.toThrow(
    'S3_BUCKET: needs STATE=sqlite, STATE=postgres or VECTOR_STORE_URL',
  );
});

it('a service does not start with the URL of an object storage and no bucket, or with one that is none', async () => {
  await expect(startService({ environment: { S3_ENDPOINT: 'https://s3.example.com' } })).rejects.toThrow(
    'needs S3_BUCKET',
  );
  const environment = { S3_BUCKET: 'files', S3_ENDPOINT: 's3.example.com' };
  await expect(startService({ environment })).rejects.toThrow('S3_ENDPOINT: expected a URL');
});

it('a request to the bucket that is signed with another key is refused', async () => {
  await using s3 = await FakeS3.start();
  process.env['AWS_SECRET_ACCESS_KEY'] = 'another';
  const bucket = new Bucket(s3.settings, new SystemClock());
  await expect(bucket.check()).rejects.toThrow('the bucket is not available: SignatureDoesNotMatch (403)');
  bucket.close();
});

describe('a bucket', () => {
  it.each([
    ['that does not answer', 'silence' as const],
    ['whose object stops in the middle', 'half' as const],
  ])('%s is given up after S3_TIMEOUT_MS', async (_case, misbehaviour) => {
    await using s3 = await FakeS3.start();
    const clock = new FakeClock();
    const bucket = new Bucket(s3.settings, clock);
    const name = bucket.newName();
    await bucket.put(name, randomBytes(MEGABYTE));
    const { promise: asked, resolve } = Promise.withResolvers<undefined>();
    s3.misbehave = () => {
      resolve(undefined);
      return misbehaviour;
    };
    const reading = bucket.read(name, { start: 0, length: MEGABYTE, of: MEGABYTE });
    await asked;
    let isGivenUp = false;
    const ended = reading.catch(() => {
      isGivenUp = true;
    });
    clock.advance(29_999);
    await nextLoopTurn();
    expect(isGivenUp).toBe(false);
    // With each part of the object the time begins anew.
    clock.advance(1);
    const isOver = (): boolean => isGivenUp;
    while (!isOver()) {
      clock.advance(30_000);
      await nextLoopTurn();
    }
    await ended;
    await expect(reading).rejects.toThrow('the bucket is not available: no answer within 30000 ms');
    bucket.close();
  });
});

function form(text: string): FormData {
  const body = new FormData();
  body.append('purpose', 'user_data');
  body.append('file', new Blob([text]), 'a.txt');
  return body;
}
