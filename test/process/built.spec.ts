// Slow: packs the package and starts its program several times.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, watch } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';

import type * as Tokens from '../../src/providers/tokens/vocabulary.js';
import { importsOf } from './imports-of.js';
import { endProcesses, startProgram } from '../support/process-service.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

describe('the program as it is built', () => {
  afterEach(endProcesses);

  const DIST = join(ROOT, 'dist');
  const program = String(readdirSync(DIST).find((name) => /^program-\w+\.js$/.test(name)));
  const read = (file: string): Promise<string> => readFile(join(DIST, file), 'utf8');

  it('the built program needs no other file to start', async () => {
    expect(importsOf(await read('thread.js'))).toEqual([]);
    expect(importsOf(await read('schema-thread.js'))).toEqual([]);
    expect(importsOf(await read('start.js'))).toEqual(['./tune-engine.js']);
    expect(importsOf(await read('tune-engine.js'))).toEqual([]);
    expect(importsOf(await read(program))).toEqual([]);
    expect(importsOf(await read('apply-migrations.js'))).toEqual([]);
    // Programs import these.
    expect(importsOf(await read('index.js'))).toContain('./bootstrap.js');
  });

  it('the built threads load no Nest, which takes longer than the rest of their start', async () => {
    for (const file of ['thread.js', 'schema-thread.js', 'document-thread.js'])
      expect(/node_modules\/@nestjs\//.exec(await read(file))).toBeNull();
  });

  it('the built program is text of one byte a character, because Node keeps all of it', async () => {
    const beyond = /[^\0-\x7f]/;
    expect(beyond.exec(await read(program))).toBeNull();
    expect(beyond.exec(await read('thread.js'))).toBeNull();
    expect(beyond.exec(await read('schema-thread.js'))).toBeNull();
  });

  it('the built program has one Nest: what it loads on demand does not bring another', async () => {
    const demands = (await read(program)).matchAll(/\bimportModule\("([^"]+)"\)/g);
    const demanded = Array.from(demands, ([, name = '']) => name);
    expect(demanded).toContain('jose');
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

  it('the built program is compiled, as V8 takes it at a start', () => {
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

  it('the built program that idles is collected without what would have V8 drop what it has compiled', async () => {
    const flags = ['--trace-gc', '--trace-memory-reducer', join(DIST, 'main.js')];
    const env = { PATH: process.env.PATH, STATE: 'memory', PORT: '0' };
    const child = spawn(process.execPath, flags, { cwd: tmpdir(), env, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    let isIdle = false;
    let collection = '';
    for await (const line of createInterface(child.stdout)) {
      isIdle ||= line.includes('Memory reducer: started GC');
      if (isIdle && line.includes('Mark-Compact')) {
        collection = line;
        break;
      }
    }
    // It could not write on, as nobody reads its lines any more.
    child.kill('SIGKILL');
    await exited;
    // One that saves memory, too, says `Mark-Compact (reduce)`.
    expect(collection).toMatch(/Mark-Compact [\d.]+ /);
  });

  it('the built program has the vocabulary of the tokenizer, read already', async () => {
    const modules = join(DIST, 'providers/tokens/vocabulary.js');
    const { Vocabulary } = (await import(modules)) as typeof Tokens;
    const vocabulary = Vocabulary.unpack(new Uint8Array(await readFile(join(DIST, 'vocabulary.bin'))));
    const words = ['Hello', ' world', '\u00e9', ' recommendations'];
    const ranks = words.map((word) => vocabulary.find(Buffer.from(word), 0, Buffer.byteLength(word)));
    expect(ranks.map((rank) => [rank])).toEqual(words.map((word) => encode(word)));
  });

  it('the built program compiles itself for later starts on a Node for which the build did not', async () => {
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

  it('the package has the service once, without source maps, and at most 1.5 MB', () => {
    expect(paths.filter((path) => path.endsWith('.map') || path.startsWith('dist/'))).toEqual([]);
    expect(paths).toEqual(
      expect.arrayContaining(['lib/index.js', 'lib/testing.js', 'lib/main.js', 'lib/licences.txt']),
    );
    expect(paths.filter((path) => /^lib\/(?:service|framework)-/.test(path))).toHaveLength(2);
    expect(packed[0].size).toBeLessThanOrEqual(1_500_000);
  });

  it('the package has no telephone numbers', async () => {
    const texts = await Promise.all(
      paths.filter((path) => path.endsWith('.js')).map((path) => readFile(join(ROOT, path), 'utf8')),
    );
    expect(texts.filter((module) => /isMobilePhone|country_calling_codes/.test(module))).toEqual([]);
  });

  it('the package and its contracts run on the Nest of the application, also beside a simulation on its own', async () => {
    const both = `import { FakeClock, SequentialIdGenerator, simulate, text } from 'antiphon/testing';
      import { Clock, createApp, IdGenerator, SimulatorModule } from 'antiphon';
      import { HttpAdapterHost, NestApplication } from '@nestjs/core';
      await using sim = await simulate({ answers: [text('Hello')] });
      const clock = new FakeClock();
      console.log(clock instanceof Clock, clock instanceof FakeClock, FakeClock.name, typeof new (class extends FakeClock {})().now());
      const app = await createApp({
        imports: [SimulatorModule],
        environment: { STATE: 'memory' },
        ids: { useClass: SequentialIdGenerator },
      });
      console.log(app.get(HttpAdapterHost).httpAdapter === app.getHttpAdapter());
      console.log(app.get(IdGenerator) instanceof SequentialIdGenerator);
      const body = JSON.stringify({ model: 'gpt-5', input: 'Hi' });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(sim.url + '/responses', { method: 'POST', headers, body });
      console.log((await answer.json()).output_text);
      await app.close();`;
    await writeFile(join(folder, 'both.mjs'), both);
    expect(await run(['both.mjs'], { LOG_LEVEL: 'error' })).toBe('true true FakeClock number\ntrue\ntrue\nHello\n');
  });

  it('a simulation keeps what is compiled of it for later processes', async () => {
    const cache = join(folder, 'node_modules/antiphon/.cache/compiled');
    await rm(cache, { recursive: true, force: true });
    await writeFile(
      join(folder, 'simulate.mjs'),
      `await (await (await import('antiphon/testing')).simulate()).close();`,
    );
    const list = async (): Promise<readonly (readonly [string, number])[]> =>
      Promise.all(readdirSync(cache).map(async (name) => [name, (await stat(join(cache, name))).mtimeMs] as const));
    expect(await run(['simulate.mjs'])).toBe('');
    const kept = await list();
    expect(kept.map(([name]) => name.split('-')[0]).sort()).toEqual(['framework', 'service']);
    expect(await run(['simulate.mjs'])).toBe('');
    // What V8 has refused would be written again.
    expect(await list()).toEqual(kept);
  });

  it('a simulation runs in Jest, where tests have a context of their own, without the tokenizer', async () => {
    const agent = `import { simulate, text } from 'antiphon/testing';
      test('an agent is answered', async () => {
        await using sim = await simulate({ answers: [text('Hello')], unmatched: 'generate' });
        const ask = async (body) => {
          const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
          return (await (await fetch(sim.url + '/responses', request)).json()).output_text;
        };
        const request = { model: 'gpt-5', input: 'Hi' };
        expect(await ask(request)).toBe('Hello');
        // Arrays and objects are those of the test.
        expect(sim.requests.map(({ request }) => request)).toStrictEqual([request]);
        expect(sim.requests).toBeInstanceOf(Array);
        // Only \`import\` finds the package that draws it.
        const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
        const answer = await ask({ ...request, text: { format: { type: 'json_schema', name: 'place', schema, strict: true } } });
        expect(JSON.parse(answer)).toStrictEqual({ city: expect.any(String) });
      });`;
    await writeFile(join(folder, 'agent.test.mjs'), agent);
    // Jest's own limit of five seconds is too short on a busy machine.
    const limit = { testTimeout: 600_000 };
    const settings = JSON.stringify({
      rootDir: folder,
      testMatch: ['**/agent.test.mjs'],
      testEnvironment: 'node',
      ...limit,
    });
    const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
    const output = await run(['--experimental-vm-modules', jest, '--config', settings, '--forceExit']);
    expect(output).toMatch(/^Tests: +1 passed, 1 total$/m);
  });

  it('the package answers a turn, with estimated tokens and one sentence about it', async () => {
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

  it('the package writes metrics and reads HTML with libraries that are copied into it', async () => {
    for (const name of ['@mozilla/readability', 'linkedom']) {
      await mkdir(join(folder, 'node_modules', name, '..'), { recursive: true });
      await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
    }
    const copied = `import { createApp, ModelProvider, ModelProviderBase } from 'antiphon';
      const Echo = class extends ModelProviderBase {
        takesFiles = false;
        models = async () => [{ id: 'echo', ownedBy: 'me', created: 1, reasoningEfforts: [] }];
        async *generate({ context }) {
          yield { type: 'text', delta: context[0].content[0].text };
          yield { type: 'finish', reason: 'stop' };
        }
      };
      ModelProvider('echo')(Echo);
      const app = await createApp({ providers: [Echo], environment: { STATE: 'memory', METRICS: true } });
      await app.listen(0, '127.0.0.1');
      const url = await app.getUrl();
      const file_data = 'data:text/html;base64,' + Buffer.from('<h2>Rain</h2><p>All of the day.</p>').toString('base64');
      const content = [{ type: 'input_file', filename: 'a.html', file_data }];
      const body = JSON.stringify({ model: 'echo', input: [{ role: 'user', content }] });
      const headers = { 'content-type': 'application/json' };
      const answer = await (await fetch(url + '/v1/responses', { method: 'POST', headers, body })).json();
      const metrics = await (await fetch(url + '/metrics')).text();
      console.log(metrics.includes('process_cpu_seconds_total'), answer.output?.[0].content[0].text ?? answer);
      await app.close();`;
    await writeFile(join(folder, 'copied.mjs'), copied);
    const beside = readdirSync(join(folder, 'node_modules'));
    expect(beside.filter((name) => ['prom-client', 'turndown'].includes(name))).toEqual([]);
    expect(await run(['copied.mjs'], { LOG_LEVEL: 'error' })).toMatch(/^true .*## Rain/s);
  });

  it.each([
    ['STATE=postgres', { STATE: 'postgres', DATABASE_URL: 'postgres://127.0.0.1:1' }, 'pg, pg-boss'],
    ['S3_BUCKET', { STATE: 'sqlite', S3_BUCKET: 'files' }, '@aws-sdk/client-s3'],
    ['STATE=redis', { STATE: 'redis', REDIS_URL: 'redis://127.0.0.1:1' }, 'ioredis, bullmq'],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      { STATE: 'memory', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
      '@opentelemetry/sdk-trace, @opentelemetry/exporter-trace-otlp-proto, @opentelemetry/resources',
    ],
  ])('the package says in one line what %s needs and how to install it', async (feature, env, names) => {
    const command = names.split(', ').map((name) => `${name}@${manifest.peerDependencies[name]}`);
    const missing = command.length === 1 ? `the package ${names}, which is` : `the packages ${names}, which are`;
    expect(await run([program], env)).toBe(
      `${feature} needs ${missing} not installed: npm install ${command.join(' ')}\n`,
    );
  });
});
