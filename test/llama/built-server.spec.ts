import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { builtPath, keep, RECIPE } from './build-llama-server.js';

const ROOT = resolve(import.meta.dirname, '../..');
const LONG_AGO = new Date('2020-01-01');

let cache = '';

beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'antiphon-cache-'));
});

afterEach(() => rm(cache, { recursive: true }));

/** Writes a file that was last used long ago. */
async function writeOld(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await chmod(path, 0o755);
  await utimes(path, LONG_AGO, LONG_AGO);
}

/** `npm run llama` on a machine without any program, so that it can build nothing. Returns what it says. */
async function runLlama(): Promise<string> {
  const script = join(ROOT, 'test/llama/build-llama-server.ts');
  const env = { ANTIPHON_CACHE: cache, PATH: cache };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { env });
  return stdout + stderr;
}

describe('the place of a built server', () => {
  it('the place of a built server is in .cache of the repository unless another folder is named', () => {
    const folderOf = (named?: string): string => dirname(builtPath(RECIPE, named));
    expect([folderOf(), folderOf('')]).toEqual(Array(2).fill(join(ROOT, '.cache/llama-server')));
    expect(folderOf('/var/cache/antiphon')).toBe('/var/cache/antiphon/llama-server');
    expect(folderOf('../shared')).toBe(resolve(ROOT, '../shared/llama-server'));
  });

  it('the place of a built server is another one for another source, other options and another machine', () => {
    const recipes = [
      RECIPE,
      { ...RECIPE, source: 'node-llama-cpp@0.0.0' },
      { ...RECIPE, integrity: 'sha512-other' },
      { ...RECIPE, options: { ...RECIPE.options, GGML_AVX: 'ON' } },
      { ...RECIPE, platform: 'other' },
      { ...RECIPE, arch: 'other' },
    ];
    expect(new Set(recipes.map((recipe) => builtPath(recipe, cache))).size).toBe(recipes.length);
  });
});

describe('a built server', () => {
  it('a built server is kept whole, beside those in use, and rids the folder of others', async () => {
    const [program, path] = [join(cache, 'program'), builtPath(RECIPE, cache)];
    const beside = (name: string): string => join(dirname(path), name);
    await writeFile(program, 'new', { mode: 0o755 });
    await writeOld(path, 'old');
    await writeOld(beside('unused'), '');
    await mkdir(beside('in-use'));
    await keep(program, path);
    expect(await readFile(path, 'utf8')).toBe('new');
    expect((await stat(path)).mode & 0o111).toBe(0o111);
    expect((await readdir(dirname(path))).sort()).toEqual(['in-use', basename(path)]);
  });

  it('a built server is not built again, and counts as used', async () => {
    const path = builtPath(RECIPE, cache);
    await writeOld(path, '#!/bin/sh\n');
    expect(await runLlama()).toBe(`llama-server is there: ${path}\n`);
    expect((await stat(path)).mtimeMs).toBeGreaterThan(LONG_AGO.getTime());
  });

  it('a built server is not left where it does not run', async () => {
    const path = builtPath(RECIPE, cache);
    await writeOld(path, '#!/bin/sh\nexit 127\n');
    expect(await runLlama()).toMatch(
      /^NO LLAMA-SERVER, .+SKIPPED: building it takes npm, tar, git, cmake, c\+\+, make/,
    );
    expect(existsSync(path)).toBe(false);
  });
});
