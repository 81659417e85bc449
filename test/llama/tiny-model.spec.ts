import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { VOCABULARY } from './tiny-vocabulary.js';
import { writeTinyModel } from './write-tiny-model.js';

describe('the tiny model', () => {
  it('the tiny model is small, and the same every time', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-model-'));
    const write = async (name: string): Promise<Buffer> => {
      await writeTinyModel(join(directory, name));
      return readFile(join(directory, name));
    };
    const models = [await write('one.gguf'), await write('other.gguf')];
    await rm(directory, { recursive: true });
    expect(models[0]?.equals(models[1] ?? Buffer.of())).toBe(true);
    expect(models[0]?.length).toBeLessThan(256 * 1024);
  });

  it('the tiny model spells no two tokens alike', () => {
    expect(new Set(VOCABULARY.map(({ spelling }) => spelling)).size).toBe(VOCABULARY.length);
  });
});
