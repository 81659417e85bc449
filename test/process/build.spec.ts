// Slow: builds the service several times.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { importsOf } from './imports-of.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const COPIED = ['scripts/build', 'console', 'package.json', 'package-lock.json', 'tsconfig.build.json'];
/** Of the project, but quick to compile with. */
const SETTINGS = { module: 'nodenext', types: [], lib: ['ES5'], outDir: 'dist', rootDir: '.', declaration: true };

/** Of the small project: it reads nothing. */
const VOCABULARY = `const read = { pack: (): string => 'a vocabulary' };
export const Vocabulary = { reader: () => ({ add: (): void => {}, end: () => read }) };`;

describe('a build', () => {
  let folder: string;

  /** Runs the build of a small project. Gives its exit code. */
  async function build(...args: readonly string[]): Promise<unknown> {
    const child = spawn(process.execPath, ['scripts/build/main.ts', ...args], { cwd: folder, stdio: 'ignore' });
    const [code] = (await once(child, 'exit')) as [unknown];
    return code;
  }

  const write = (path: string, text: string): Promise<void> => writeFile(join(folder, 'src', path), text);
  const built = (path = 'main.js'): Promise<string> => readFile(join(folder, 'dist', path), 'utf8');
  const builtAt = async (): Promise<number> => (await stat(join(folder, 'dist/main.js'))).mtimeMs;

  /** A small project that was built once. */
  let template: string;

  beforeAll(async () => {
    folder = template = await mkdtemp(join(tmpdir(), 'antiphon-build-'));
    for (const path of COPIED) await cp(join(ROOT, path), join(folder, path), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const settings = { compilerOptions: { ...SETTINGS, strict: true } };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    await mkdir(join(folder, 'src/state/postgres/migrations'), { recursive: true });
    await mkdir(join(folder, 'src/state/sqlite'));
    await write('main.ts', '#!/usr/bin/env node\nexport const value: number = 1;\n');
    await write(
      'start.ts',
      `import 'reflect-metadata';\nimport { part } from './part.js';\nexport function run(): readonly string[] {\n  return part;\n}\n`,
    );
    await write('tune-engine.ts', 'export function asAtStart<T>(work: () => T): T {\n  return work();\n}\n');
    await write('node-version.ts', 'export function describeOldNode(): undefined {}\n');
    await write('part.ts', "export const part: readonly string[] = ['a part'];\n");
    await write('state/sqlite/thread.ts', 'export {};\n');
    await mkdir(join(folder, 'src/simulator/schema'), { recursive: true });
    await write('simulator/schema/schema-thread.ts', 'export {};\n');
    await mkdir(join(folder, 'src/files/documents'), { recursive: true });
    await write('files/documents/document-thread.ts', 'export {};\n');
    await mkdir(join(folder, 'src/providers/tokens'), { recursive: true });
    await write('providers/tokens/vocabulary.ts', VOCABULARY);
    await write('index.ts', "import 'reflect-metadata';\nexport { part } from './part.js';\n");
    await mkdir(join(folder, 'src/testing/simulation'), { recursive: true });
    await write('testing/simulation/index.ts', "export { part as simulated } from '../../part.js';\n");
    await write('testing/index.ts', "export { part as tested } from '../part.js';\n");
    await write('migrate.ts', "import { applyMigrations } from './apply-migrations.js';\napplyMigrations();\n");
    await write('apply-migrations.ts', 'export function applyMigrations(): void {}\n');
    await write('state/postgres/migrations/1.sql', 'SELECT 1;');
    expect(await build()).toBe(0);
  });

  afterAll(() => rm(template, { recursive: true }));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-build-'));
    await cp(template, folder, { recursive: true, verbatimSymlinks: true });
  });

  afterEach(() => rm(folder, { recursive: true }));

  it('a build is complete, and leaves nothing beside it', async () => {
    expect(await built()).toContain('export const value = 1;');
    expect(await built('state/postgres/migrations/1.sql')).toBe('SELECT 1;');
    expect((await stat(join(folder, 'dist/main.js'))).mode & 0o111).toBe(0o111);
    expect((await readdir(folder)).filter((name) => /^(?:dist|lib)/.test(name))).toEqual(['dist', 'lib']);
  });

  it('a build has the program in one file, with what it needs beside it and the licences of what is in it', async () => {
    const program = (await readdir(join(folder, 'dist'))).filter((name) => name.startsWith('program-'));
    expect(program).toEqual([expect.stringMatching(/^program-\w+\.js$/), `${program[0]}.compiled`]);
    expect(await built(program[0])).toContain('["a part"]');
    expect(importsOf(await built(program[0]))).toEqual([]);
    expect(await built('start.js')).toContain(String(program[0]));
    expect(await built('part.js')).toContain('a part');
    expect(await built('thread.js')).not.toBe('');
    expect(await built('migrations/1.sql')).toBe('SELECT 1;');
    expect(await built('vocabulary.bin')).toBe('a vocabulary');
    expect(await built('page/main.js')).toContain('antiphon.token.');
    expect(await built('start.licences.txt')).toMatch(/^reflect-metadata [\d.]+ \(Apache-2.0\)$/m);
  });

  it('a build has the service once in the package, without what npm installs beside it', async () => {
    const files = (await readdir(join(folder, 'lib'))).filter((name) => name.endsWith('.js'));
    const texts = await Promise.all(files.map((name) => readFile(join(folder, 'lib', name), 'utf8')));
    expect(texts.filter((text) => text.includes('a part'))).toHaveLength(1);
    expect(importsOf(await readFile(join(folder, 'lib/index.js'), 'utf8'))).toContain('reflect-metadata');
    expect(await readFile(join(folder, 'lib/testing/index.d.ts'), 'utf8')).toContain('part as tested');
    expect(await readFile(join(folder, 'lib/migrations/1.sql'), 'utf8')).toBe('SELECT 1;');
  });

  it('a build is not repeated before a start when nothing has changed', async () => {
    const before = await builtAt();
    await write('main.ts', await readFile(join(folder, 'src/main.ts'), 'utf8'));
    expect(await build('--if-changed')).toBe(0);
    expect(await builtAt()).toBe(before);
    // Whoever builds means it.
    expect(await build()).toBe(0);
    expect(await builtAt()).not.toBe(before);
  });

  it('a build is repeated when sources or settings are others, and has nothing of the old one', async () => {
    const changes = [
      () => write('other.ts', 'export const other = 2;\n'),
      () => rm(join(folder, 'src/other.ts')),
      () => writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: SETTINGS })),
    ];
    for (const change of changes) {
      await writeFile(join(folder, 'dist/old.js'), '');
      await change();
      expect(await build('--if-changed')).toBe(0);
      expect(await readdir(join(folder, 'dist'))).not.toContain('old.js');
    }
  });

  it.each(['export', 'import'])('a build comes before npm run %s, and is not in its output', async (command) => {
    await write(
      'main.ts',
      'declare const process: any;\nprocess.stdout.write(`${process.argv.slice(2)}\\n`);\nprocess.stdin.pipe(process.stdout);\n',
    );
    const child = spawn('npm', ['run', '--silent', command, '--', '--tenant', 'a'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.end('all of the input');
    expect(await text(child.stdout)).toBe(`${command},--tenant,a\nall of the input`);
  });

  it('a build leaves the old one when it fails, and is tried again', async () => {
    await write('main.ts', 'export const value: number = "two";\n');
    expect(await build('--if-changed')).toBe(1);
    expect(await built()).toContain('export const value = 1;');
    await write('main.ts', 'export const value: number = 3;\n');
    expect(await build('--if-changed')).toBe(0);
    expect(await built()).toContain('export const value = 3;');
  });

  it('a build waits for another one in the same folder, and is not repeated after one of the same sources', async () => {
    await write('main.ts', 'export const value: number = 2;\n');
    const builds = Array.from({ length: 3 }, async () => {
      const child = spawn(process.execPath, ['scripts/build/main.ts', '--if-changed'], { cwd: folder });
      const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<unknown[]>]);
      return { said, code };
    });
    const ended = await Promise.all(builds);
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(ended.filter(({ said }) => said.includes('Building dist'))).toHaveLength(1);
    expect(await built()).toContain('export const value = 2;');
    expect((await readdir(folder)).filter((name) => /^(?:dist|lib)/.test(name))).toEqual(['dist', 'lib']);
  });

  it.each([
    ['is killed with its compiler', (pid: number) => process.kill(-pid, 'SIGKILL')],
    ['alone is told to end', (pid: number) => process.kill(pid, 'SIGTERM')],
    ['alone is killed', (pid: number) => process.kill(pid, 'SIGKILL')],
  ])('a build leaves the old one when it %s, and can be repeated at once', async (_, interrupt) => {
    await write('main.ts', 'export const value: number = 2;\n');
    const elsewhere = Promise.withResolvers<string>();
    const watcher = watch(folder, (_event, name) => {
      if (name === 'dist-next') elsewhere.resolve(name);
    });
    const child = spawn(process.execPath, ['scripts/build/main.ts'], { cwd: folder, stdio: 'ignore', detached: true });
    const exited = once(child, 'exit');
    expect(await elsewhere.promise).toBe('dist-next');
    watcher.close();
    if (child.exitCode === null) interrupt(child.pid as number);
    await exited;
    // On a busy machine it may have been complete by then.
    expect(await built()).toMatch(/export const value = [12];/);
    // What an interrupted build may have left.
    await mkdir(join(folder, 'dist-next'), { recursive: true });
    await writeFile(join(folder, 'dist-next/half.js'), '');
    expect(await build('--if-changed')).toBe(0);
    expect(await built()).toContain('export const value = 2;');
    expect((await readdir(join(folder, 'dist'))).sort()).not.toContain('half.js');
  });
});
