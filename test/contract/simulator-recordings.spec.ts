import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { SimulatorModule } from '../../src/simulator/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { type Service, startService } from '../support/service.js';

const ODD = 'Team A/../b';
const KEYS = `alice:sk-alice,bob:sk-bob,${ODD}:sk-odd`;

describe('recordings over HTTP', () => {
  let folder: string;
  let service: Service;
  let number = 0;
  let name: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-recordings-'));
    service = await startService({
      providers: [ScriptedProvider],
      imports: [SimulatorModule],
      environment: { API_KEYS: KEYS, SIMULATOR_CONTROL: true, RECORD_DIR: join(folder, 'new') },
    });
  });
  beforeEach(() => {
    number += 1;
    name = `session-${number}`;
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  const ask = async (path: string, body?: unknown, key = 'sk-alice', on = service): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(`${on.origin}/simulator/recordings${path}`, init);
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  const start = (key?: string): Promise<unknown> => ask('', { name }, key);
  const stop = (key?: string): Promise<unknown> => ask(`/${name}/stop`, {}, key);
  /** A turn of the scripted model, which says the input in capitals. */
  const say = async (input: string, key = 'sk-alice'): Promise<string> => {
    service.app.get(ScriptedProvider).play(async function* (turn) {
      const [, said = ''] = /"text":"([^"]*)"/.exec(JSON.stringify(turn.input)) ?? [];
      yield { type: 'text', delta: said.toUpperCase() };
      yield { type: 'finish', reason: 'stop' };
    });
    const { output_text: text } = await service.client({ apiKey: key }).responses.create({ model: 'scripted', input });
    return text;
  };
  const turnsIn = async (path: string): Promise<string> => readFile(join(folder, 'new', path), 'utf8');

  it('recordings over HTTP have what a tenant was answered between start and stop, and replay it', async () => {
    await say('before');
    const begun = await start();
    const path = `alice/${name}.jsonl`;
    expect(begun).toMatchObject({ object: 'simulator.recording', name, path, status: 'recording', turns: 0 });
    await say('first');
    await say('of bob', 'sk-bob');
    await say('second');
    expect(await ask('')).toMatchObject({ object: 'list', data: [{ name, status: 'recording', turns: 2 }] });
    expect(await ask('', undefined, 'sk-bob')).toMatchObject({ data: [] });
    expect(await stop()).toMatchObject({ name, status: 'stopped', turns: 2 });
    await say('after');
    const text = await turnsIn(path);
    expect(text).toMatch(/FIRST[^]*SECOND/);
    expect(text).not.toMatch(/BEFORE|BOB|AFTER/);
    expect(await ask('')).toMatchObject({ data: [] });
    await using replay = await startService({ environment: { SIMULATOR_SCRIPTS: join(folder, 'new', path) } });
    const again = await replay.client().responses.create({ model: name, input: 'second' });
    expect(again.output_text).toBe('SECOND');
  });

  it('recordings of two tenants run at once, and are apart', async () => {
    await start();
    expect(await start('sk-bob')).toMatchObject({ status: 'recording', path: `bob/${name}.jsonl` });
    await Promise.all([say('of alice'), say('of bob', 'sk-bob')]);
    expect(await stop('sk-odd')).toMatchObject({ status: 404 });
    await Promise.all([stop(), stop('sk-bob')]);
    expect(await turnsIn(`alice/${name}.jsonl`)).not.toContain('BOB');
    expect(await turnsIn(`bob/${name}.jsonl`)).not.toContain('ALICE');
  });

  it('recordings start once, however many ask at once, and stop once', async () => {
    const starts = (await Promise.all(Array.from({ length: 8 }, () => start()))) as { readonly status: unknown }[];
    expect(starts.map(({ status }) => status).sort()).toEqual([...Array<number>(7).fill(409), 'recording']);
    const stops = (await Promise.all(Array.from({ length: 8 }, () => stop()))) as { readonly status: unknown }[];
    expect(stops.map(({ status }) => status).sort()).toEqual([...Array<number>(7).fill(404), 'stopped']);
  });

  it('recordings write no file again, and leave it as it is', async () => {
    await start();
    await say('once');
    await stop();
    const before = await turnsIn(`alice/${name}.jsonl`);
    expect(await start()).toMatchObject({ status: 409, error: { message: expect.stringContaining('already') } });
    expect(await turnsIn(`alice/${name}.jsonl`)).toBe(before);
    expect(await ask('')).toMatchObject({ data: [] });
  });

  it.each(['', '.', '..', '../x', 'a/b', 'a\\b', '/etc/x', 'a.b', 'a\0', '%2e%2e', '-a', 'ä', 'x'.repeat(65)])(
    'recordings over HTTP have no name such as %j',
    async (wrong) => {
      const refused = { status: 400, error: { type: 'invalid_request_error', code: 'invalid_value' } };
      expect(await ask('', { name: wrong })).toMatchObject(refused);
      expect(await ask('')).toMatchObject({ data: [] });
    },
  );

  it.each([[{}], [{ name: 1 }], [{ name: 'x', path: '/x' }], [[]]])(
    'recordings over HTTP are not started by %j',
    async (body) => {
      expect(await ask('', body)).toMatchObject({ status: 400, error: { code: 'invalid_value' } });
    },
  );

  it('recordings stay in their directory, whatever a tenant is called', async () => {
    const { path } = (await start('sk-odd')) as { readonly path: string };
    await stop('sk-odd');
    expect(path).toMatch(/^sha256-[0-9a-f]{64}\/session-\d+\.jsonl$/);
    expect(await readdir(folder)).toEqual(['new']);
  });

  it('recordings need a key', async () => {
    expect(await start('sk-mallory')).toMatchObject({ status: 401 });
  });

  it('recordings end with their service', async () => {
    const directory = join(folder, 'ends');
    const environment = { SIMULATOR_CONTROL: true, RECORD_DIR: directory };
    const ending = await startService({ providers: [ScriptedProvider], imports: [SimulatorModule], environment });
    const { path } = (await ask('', { name }, 'any', ending)) as { readonly path: string };
    await ending.client().responses.create({ model: 'scripted', input: 'last' });
    await ending.close();
    const lines = (await readFile(join(directory, path), 'utf8')).trimEnd().split('\n');
    expect(lines.map((line): unknown => JSON.parse(line))).toHaveLength(2);
  });

  it('recordings are refused without a directory, and where it cannot be written', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    for (const [RECORD_DIR, refused] of [
      ['', { status: 404, error: { message: expect.stringContaining('RECORD_DIR') } }],
      [file, { status: 500, error: { type: 'server_error', message: 'The recording cannot be written.' } }],
    ] as const) {
      await using other = await startService({ environment: { SIMULATOR_CONTROL: true, RECORD_DIR } });
      expect(await ask('', { name }, 'any', other)).toMatchObject(refused);
      expect(await ask('', undefined, 'any', other)).toMatchObject({ data: [] });
    }
    await rm(file);
  });

  it('the routes of recordings are not there without SIMULATOR_CONTROL', async () => {
    await using other = await startService({ environment: { RECORD_DIR: folder } });
    expect(await ask('', { name }, 'any', other)).toMatchObject({ status: 404, error: { code: 'unknown_url' } });
  });
});
