// Slow: builds the service several times.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, watch } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { endProcesses, startProgram } from '../support/process-service.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const COPIED = ['scripts/build', 'nest-cli.json', 'package.json', 'package-lock.json', 'tsconfig.build.json'];
/** Of the project, but quick to compile with. */
const SETTINGS = { module: 'nodenext', types: [], lib: ['ES5'], outDir: 'dist', rootDir: '.', declaration: true };

/** Modules that a file loads before it runs, other than those of Node. */
function importsOf(text: string): readonly string[] {
  const imports = text.matchAll(/^(?:import|export|\})(?: .*)?(?: from)? ["']([^"']+)["']/gm);
  return Array.from(imports, ([, name = '']) => name).filter((name) => !isBuiltin(name));
}

describe('the program as it is built', () => {
  afterEach(endProcesses);

  const DIST = join(ROOT, 'dist');
  const program = String(readdirSync(DIST).find((name) => /^program-\w+\.js$/.test(name)));
  const read = (file: string): Promise<string> => readFile(join(DIST, file), 'utf8');

  it('needs no other file to start', async () => {
    expect(importsOf(await read('thread.js'))).toEqual([]);
    expect(importsOf(await read('schema-thread.js'))).toEqual([]);
    expect(importsOf(await read('start.js'))).toEqual(['./tune-engine.js']);
    expect(importsOf(await read('tune-engine.js'))).toEqual([]);
    expect(importsOf(await read(program))).toEqual([]);
    expect(importsOf(await read('apply-migrations.js'))).toEqual([]);
    // Programs import these.
    expect(importsOf(await read('index.js'))).toContain('./bootstrap.js');
  });

  it('is text of one byte a character, because Node keeps all of it', async () => {
    const beyond = /[^\0-\x7f]/;
    expect(beyond.exec(await read(program))).toBeNull();
    expect(beyond.exec(await read('thread.js'))).toBeNull();
    expect(beyond.exec(await read('schema-thread.js'))).toBeNull();
  });

  it('has one Nest: what it loads on demand does not bring another', async () => {
    const demands = (await read(program)).matchAll(/\bimportModule\("([^"]+)"\)/g);
    const demanded = Array.from(demands, ([, name = '']) => name);
    expect(demanded).toContain('prom-client');
    const ofNest = demanded.filter((name) => name.startsWith('@nestjs/'));
    const installed = ofNest.filter((name) => existsSync(join(ROOT, 'node_modules', name.split('/', 2).join('/'))));
    expect(installed).toEqual([]);
  });

  /** A copy of the program alone, beside which nothing is compiled. */
  async function copyProgram(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-program-'));
    for (const name of ['main.js', 'node-version.js', 'start.js', 'tune-engine.js', program])
      await cp(join(DIST, name), join(folder, 'dist', name));
    for (const name of ['package.json', 'node_modules']) await symlink(join(ROOT, name), join(folder, name));
    return folder;
  }

  it('is compiled, as V8 takes it at a start', () => {
    const path = JSON.stringify(join(DIST, program));
    const look = `await import(${JSON.stringify(join(DIST, 'tune-engine.js'))});
      import { readFileSync } from 'node:fs';
      import { Script } from 'node:vm';
      const script = new Script(readFileSync(${path}, 'latin1'), { cachedData: readFileSync(${path} + '.compiled') });
      console.log(script.cachedDataRejected);`;
    expect(execFileSync(process.execPath, ['--input-type=module', '--eval', look], { encoding: 'utf8' })).toBe(
      'false\n',
    );
  });

  it('compiles itself for later starts on a Node for which the build did not', async () => {
    const folder = await copyProgram();
    const cache = join(folder, 'cache');
    await mkdir(cache);
    const writes = watch(cache, { recursive: true });
    const isKept = new Promise<void>((done) => {
      writes.on('change', (_, name) => {
        if (String(name).endsWith(`${program}.compiled`)) done();
      });
    });
    const service = await startProgram(join(folder, 'dist/main.js'), /Antiphon listens on (\S+)/, {
      STATE: 'memory',
      NODE_COMPILE_CACHE: cache,
    });
    await isKept;
    writes.close();
    service.kill('SIGTERM');
    expect((await service.exited).code).toBe(0);
    await rm(folder, { recursive: true });
  });
});

/** What is read of package.json. */
interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, unknown>>;
}

describe('the package', () => {
  const packed = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: 'pipe',
    }),
  ) as [{ readonly size: number; readonly files: readonly { readonly path: string }[] }];
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const paths = packed[0].files.map(({ path }) => path);
  let folder: string;

  /** A folder like that of `npm install antiphon`: beside the package, only what it depends on and the peers that are not optional. */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-installed-'));
    const installed = join(folder, 'node_modules/antiphon');
    for (const path of paths) await cp(join(ROOT, path), join(installed, path));
    const needed = Object.keys(manifest.peerDependencies).filter((name) => !(name in manifest.peerDependenciesMeta));
    for (const name of [...Object.keys(manifest.dependencies), ...needed]) {
      await mkdir(join(folder, 'node_modules', name, '..'), { recursive: true });
      await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Runs a module in the folder to its end, with all that it writes. */
  async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { PATH: process.env['PATH'], PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return (await Promise.all([text(child.stdout), text(child.stderr)])).join('');
  }
  const program = 'node_modules/antiphon/lib/main.js';

  it('has each module once, without source maps, and at most 1.5 MB', () => {
    expect(paths.filter((path) => path.endsWith('.map') || path.startsWith('dist/'))).toEqual([]);
    expect(paths).toEqual(
      expect.arrayContaining(['lib/index.js', 'lib/testing.js', 'lib/main.js', 'lib/licences.txt']),
    );
    expect(packed[0].size).toBeLessThanOrEqual(1_500_000);
  });

  it('has no telephone numbers, and no copy of Nest', async () => {
    const texts = await Promise.all(
      paths.filter((path) => path.endsWith('.js')).map((path) => readFile(join(ROOT, path), 'utf8')),
    );
    expect(texts.filter((module) => /PhoneNumber|node_modules\/@nestjs/.test(module))).toEqual([]);
  });

  it('answers a turn, with estimated tokens and one sentence about it', async () => {
    const answer = `import { createApp, SimulatorModule } from 'antiphon';
      import 'antiphon/testing';
      const app = await createApp({ imports: [SimulatorModule], environment: { STATE: 'memory' } });
      await app.listen(0, '127.0.0.1');
      const url = (await app.getUrl()) + '/v1/responses';
      const body = JSON.stringify({ model: 'simulator-1', input: 'Hello, world' });
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      const { status, output_text, usage } = await response.json();
      console.log(JSON.stringify({ status, written: output_text.length > 0, input: usage.input_tokens }));
      await app.close();`;
    await writeFile(join(folder, 'answer.mjs'), answer);
    const output = await run(['answer.mjs'], { LOG_COLOR: 'false' });
    expect(output).toContain('{"status":"completed","written":true,"input":6}');
    expect(output.match(/gpt-tokenizer, which is not installed: npm install gpt-tokenizer@/g)).toHaveLength(1);
  });

  it.each([
    ['STATE=postgres', { STATE: 'postgres', DATABASE_URL: 'postgres://127.0.0.1:1' }, 'pg, pg-boss, node-pg-migrate'],
    ['STATE=redis', { STATE: 'redis', REDIS_URL: 'redis://127.0.0.1:1' }, 'ioredis, bullmq'],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      { STATE: 'memory', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
      '@opentelemetry/sdk-trace, @opentelemetry/exporter-trace-otlp-proto, @opentelemetry/resources',
    ],
  ])('says in one line what %s needs and how to install it', async (feature, env, names) => {
    const command = names.split(', ').map((name) => `${name}@${manifest.peerDependencies[name]}`);
    expect(await run([program], env)).toBe(
      `${feature} needs the packages ${names}, which are not installed: npm install ${command.join(' ')}\n`,
    );
  });
});

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
    await write('tune-engine.ts', 'export function beginStart(): void {}\nexport function endStart(): void {}\n');
    await write('part.ts', "export const part: readonly string[] = ['a part'];\n");
    await write('state/sqlite/thread.ts', 'export {};\n');
    await mkdir(join(folder, 'src/simulator/schema'), { recursive: true });
    await write('simulator/schema/schema-thread.ts', 'export {};\n');
    await write('index.ts', "import 'reflect-metadata';\nexport { part } from './part.js';\n");
    await mkdir(join(folder, 'src/testing'));
    await write('testing/index.ts', "export { part as tested } from '../part.js';\n");
    await write('migrate.ts', "import './apply-migrations.js';\n");
    await write('apply-migrations.ts', 'export {};\n');
    await write('state/postgres/migrations/1.sql', 'SELECT 1;');
    expect(await build()).toBe(0);
  });

  afterAll(() => rm(template, { recursive: true }));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-build-'));
    await cp(template, folder, { recursive: true, verbatimSymlinks: true });
  });

  afterEach(() => rm(folder, { recursive: true }));

  it('is complete, and leaves nothing beside it', async () => {
    expect(await built()).toContain('export const value = 1;');
    expect(await built('state/postgres/migrations/1.sql')).toBe('SELECT 1;');
    expect((await stat(join(folder, 'dist/main.js'))).mode & 0o111).toBe(0o111);
    expect((await readdir(folder)).filter((name) => /^(?:dist|lib)/.test(name))).toEqual(['dist', 'lib']);
  });

  it('has the program in one file, with what it needs beside it and the licences of what is in it', async () => {
    const program = (await readdir(join(folder, 'dist'))).filter((name) => name.startsWith('program-'));
    expect(program).toEqual([expect.stringMatching(/^program-\w+\.js$/), `${program[0]}.compiled`]);
    expect(await built(program[0])).toContain('["a part"]');
    expect(importsOf(await built(program[0]))).toEqual([]);
    expect(await built('start.js')).toContain(String(program[0]));
    expect(await built('part.js')).toContain('a part');
    expect(await built('thread.js')).not.toBe('');
    expect(await built('migrations/1.sql')).toBe('SELECT 1;');
    expect(await built('start.licences.txt')).toMatch(/^reflect-metadata [\d.]+ \(Apache-2.0\)$/m);
  });

  it('has the package in files that share their parts, without what npm installs beside it', async () => {
    const files = (await readdir(join(folder, 'lib'))).filter((name) => name.endsWith('.js'));
    const texts = await Promise.all(files.map((name) => readFile(join(folder, 'lib', name), 'utf8')));
    expect(texts.filter((text) => text.includes('a part'))).toHaveLength(1);
    expect(importsOf(await readFile(join(folder, 'lib/index.js'), 'utf8'))).toContain('reflect-metadata');
    expect(await readFile(join(folder, 'lib/testing/index.d.ts'), 'utf8')).toContain('part as tested');
    expect(await readFile(join(folder, 'lib/migrations/1.sql'), 'utf8')).toBe('SELECT 1;');
  });

  it('is not repeated before a start when nothing has changed', async () => {
    const before = await builtAt();
    await write('main.ts', await readFile(join(folder, 'src/main.ts'), 'utf8'));
    expect(await build('--if-changed')).toBe(0);
    expect(await builtAt()).toBe(before);
    // Whoever builds means it.
    expect(await build()).toBe(0);
    expect(await builtAt()).not.toBe(before);
  });

  it('is repeated when sources or settings are others, and has nothing of the old one', async () => {
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

  it.each(['export', 'import'])('comes before npm run %s, and is not in its output', async (command) => {
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

  it('leaves the old one when it fails, and is tried again', async () => {
    await write('main.ts', 'export const value: number = "two";\n');
    expect(await build('--if-changed')).toBe(1);
    expect(await built()).toContain('export const value = 1;');
    await write('main.ts', 'export const value: number = 3;\n');
    expect(await build('--if-changed')).toBe(0);
    expect(await built()).toContain('export const value = 3;');
  });

  it('leaves the old one when it is interrupted', async () => {
    await write('main.ts', 'export const value: number = 2;\n');
    const elsewhere = Promise.withResolvers<string>();
    const watcher = watch(folder, (_event, name) => {
      if (name === 'dist-next') elsewhere.resolve(name);
    });
    const child = spawn(process.execPath, ['scripts/build/main.ts'], { cwd: folder, stdio: 'ignore', detached: true });
    const exited = once(child, 'exit');
    expect(await elsewhere.promise).toBe('dist-next');
    watcher.close();
    if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGKILL');
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
