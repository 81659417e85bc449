import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { RecordingFile } from './recording-file.js';

describe(RecordingFile, () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-recording-'));
    path = join(folder, 'session.jsonl');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const open = (mostBytes: number, isNew = true): Promise<RecordingFile> =>
    RecordingFile.open(path, { isNew, mostBytes, onError: () => undefined });
  const turnsIn = async (): Promise<readonly unknown[]> =>
    (await readFile(path, 'utf8'))
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line): unknown => JSON.parse(line));

  it('a file of recordings leaves out turns that would make it too long, and says so', async () => {
    const file = await open(300);
    file.write({ text: 'é'.repeat(50) });
    file.write({ text: 'é'.repeat(100) });
    expect([file.status, file.turns]).toEqual(['full', 1]);
    file.write({ text: 'short' });
    await file.close();
    expect(await turnsIn()).toEqual([{ text: 'é'.repeat(50) }, { text: 'short' }]);
  });

  it('a file of recordings takes nothing after it was closed', async () => {
    const file = await open(Infinity);
    file.write({ text: 'in time' });
    const closed = file.close();
    file.write({ text: 'late' });
    await Promise.all([closed, file.close()]);
    file.write({ text: 'later' });
    expect(file.turns).toBe(1);
    expect(await turnsIn()).toEqual([{ text: 'in time' }]);
  });

  it('a recording file is new, or goes on with what is there', async () => {
    const first = await open(Infinity);
    first.write({ text: 'first' });
    await first.close();
    await expect(open(Infinity)).rejects.toMatchObject({ code: 'EEXIST' });
    const again = await open(Infinity, false);
    again.write({ text: 'second' });
    await again.close();
    expect(await turnsIn()).toEqual([{ text: 'first' }, { text: 'second' }]);
  });
});
