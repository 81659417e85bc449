import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import type { Tenant } from '../../src/access/index.js';
import { FILE_NAME } from '../../src/state/sqlite/open-database.js';
import { FakeClock } from '../../src/testing/index.js';
import { whenEnded } from '../support/background.js';
import { ServiceLog } from '../support/service-log.js';
import { type Service, startService } from '../support/service.js';
import { sqliteIn } from './sqlite-fixture.js';

const UNAVAILABLE = { status: 503, code: 'service_unavailable' };

describe('a service whose file', () => {
  let above: string;
  let directory: string;

  beforeEach(async () => {
    above = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    directory = join(above, 'data');
  });
  afterEach(() => rm(above, { recursive: true }));

  const start = (): Promise<Service> => startService({ environment: { STATE: 'sqlite', STATE_DIR: directory } });
  const clientOf = ({ baseURL }: Service): OpenAI => new OpenAI({ apiKey: 'none', baseURL, maxRetries: 0 });
  const ask = (client: OpenAI) => client.responses.create({ model: 'gpt-5', input: 'Hello' });
  const readiness = async ({ origin }: Service): Promise<number> => (await fetch(`${origin}/readyz`)).status;

  it.each<[string, () => Promise<void>]>([
    ['was removed', () => rm(join(directory, FILE_NAME))],
    ['was removed with its directory', () => rm(directory, { recursive: true })],
    ['has lost the log beside it', () => rm(join(directory, `${FILE_NAME}-wal`))],
    [
      'was replaced',
      async () => {
        await cp(directory, join(above, 'copy'), { recursive: true });
        await rename(directory, join(above, 'old'));
        await rename(join(above, 'copy'), directory);
      },
    ],
  ])('%s acknowledges nothing any more, and says so once', async (_what, remove) => {
    await using service = await start();
    const client = clientOf(service);
    await ask(client);
    using log = ServiceLog.begin();
    await remove();
    for (let turn = 0; turn < 3; turn += 1) await expect(ask(client)).rejects.toMatchObject(UNAVAILABLE);
    expect(await readiness(service)).toBe(503);
    const lines = log.complaints.filter((line) => line.includes('the database has refused a request'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      `The state in STATE_DIR (${directory}) was removed or replaced while it was open: put its files back, or restart the service`,
    );
  });

  it('a service whose file was put back goes on', async () => {
    await using service = await start();
    const client = clientOf(service);
    await rename(directory, join(above, 'elsewhere'));
    await expect(ask(client)).rejects.toMatchObject(UNAVAILABLE);
    await rename(join(above, 'elsewhere'), directory);
    expect(await readiness(service)).toBe(200);
    const { id } = await ask(client);
    expect(await client.responses.retrieve(id)).toMatchObject({ id });
  });

  it.each([
    ['a response', "UPDATE responses SET body = 'xxxx'"],
    ['the output', "UPDATE responses SET output = 'xxxx'"],
    ['the input', "UPDATE responses SET input = 'xxxx'"],
    ['a conversation', "UPDATE conversations SET metadata = 'xxxx'"],
    ['an item of a conversation', "UPDATE conversation_items SET body = 'xxxx'"],
  ])('a service whose file has damage in %s says where, and serves what is whole', async (_what, damage) => {
    const ids = await fill();
    damageFile(damage);
    await using service = await start();
    const client = clientOf(service);
    using log = ServiceLog.begin();
    const paths = [
      'responses',
      `responses/${ids.response}`,
      `responses/${ids.response}/input_items`,
      `responses/${ids.response}/tree`,
      `conversations/${ids.conversation}`,
      `conversations/${ids.conversation}/items`,
    ];
    const answers = await Promise.all(paths.map((path) => fetch(`${service.baseURL}/${path}`)));
    const statuses = new Set(answers.map(({ status }) => status));
    expect(statuses).toContain(200);
    expect(statuses).not.toContain(503);
    expect(log.complaints.join('\n')).toMatch(
      new RegExp(`/v1/(responses/${ids.response}|conversations/${ids.conversation}).* is damaged`),
    );
    expect(log.complaints.join('\n')).not.toContain('SyntaxError');
    expect(await ask(client)).toMatchObject({ status: 'completed' });
  });

  it('a service whose file has a job that cannot be read starts, and does without that one', async () => {
    await fill();
    damageFile("INSERT INTO jobs (queue, id, data, attempts) VALUES ('turns', 'broken', 'sesame', 0)");
    const log = ServiceLog.begin();
    const backend = sqliteIn(directory, new FakeClock());
    await backend.start();
    await backend.stop();
    log[Symbol.dispose]();
    expect(log.complaints).toEqual([
      expect.stringContaining('job broken of queue turns cannot be read and is left out: its text is not JSON'),
    ]);
    await using service = await start();
    const { id } = await clientOf(service).responses.create({ model: 'gpt-5', input: 'Hello', background: true });
    expect((await whenEnded(service, id)).status).toBe('completed');
  });

  it('a tenant whose name is damaged does not keep the files of others from being freed', async () => {
    const clock = new FakeClock();
    const tenants = ['one', 'two'] as readonly string[] as readonly Tenant[];
    const record = { createdAt: 0, bytes: 0, filename: 'empty', purpose: 'assistants', mimeType: null, sha256: '' };
    const before = sqliteIn(directory, clock);
    await before.start();
    for (const tenant of tenants) {
      await before.files.commit(tenant, { ...record, id: `file_${tenant}`, expiresAt: null }, { bytes: 1, files: 1 });
      await before.files.delete(tenant, `file_${tenant}`);
    }
    await before.stop();
    damageFile("UPDATE tenants SET name = 'sesame' WHERE key = 'one'");
    const after = sqliteIn(directory, clock);
    await after.start();
    expect(await after.files.ended()).toEqual([{ tenant: 'two', id: 'file_two' }]);
    await after.stop();
  });

  function damageFile(statement: string): void {
    const database = new DatabaseSync(join(directory, FILE_NAME));
    database.exec(statement);
    database.close();
  }

  /** Keeps a turn of a conversation, and stops. */
  async function fill(): Promise<{ readonly response: string; readonly conversation: string }> {
    await using service = await start();
    const client = clientOf(service);
    const { id: conversation } = await client.conversations.create({ metadata: { topic: 'damage' } });
    const { id: response } = await client.responses.create({ model: 'gpt-5', input: 'Hello', conversation });
    return { response, conversation };
  }
});
