import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type ProviderKind, SystemRandom } from '../../src/index.js';
import { ChatCompletionsKind } from '../../src/providers/routing/chat-completions-kind.js';
import { readProvidersFile } from '../../src/providers/routing/create-providers.js';
import { ResponsesKind } from '../../src/providers/routing/responses-kind.js';
import { FakeClock, SequentialIdGenerator } from '../../src/testing/index.js';
import { itWith } from '../support/tests-with-programs.js';
import { type Service, startService } from '../support/service.js';
import { blocksOf, type CodeBlock, PAGES, readText, ROOT } from './pages.js';

const BLOCKS = PAGES.flatMap(blocksOf);
const ORIGIN = 'http://127.0.0.1:8080';
const PATIENCE_MS = 60_000;
/** The keys that files refer to. */
const KEYS = ['AZURE_KEY', 'CLOUD_KEY', 'GPU_KEY', 'OPENAI_KEY'];

/** Blocks under names that tell where they are. */
function named(wanted: (block: CodeBlock) => boolean): readonly (readonly [where: string, block: CodeBlock])[] {
  return BLOCKS.filter(wanted).map((block) => [`${block.page}:${block.line}`, block]);
}

/** How a program ended, and all it wrote. */
function run(file: string, args: readonly string[], cwd: string): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd, timeout: PATIENCE_MS }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), output: stdout + stderr });
    });
  });
}

describe('the examples that readers copy', () => {
  let folder: string;
  let service: Service;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-docs-'));
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const script = blocksOf('docs/getting-started.md').find(({ code }) => code.startsWith('# weather.yaml'));
    const path = join(folder, 'weather.yaml');
    await writeFile(path, script?.code ?? '');
    service = await startService({ environment: { SIMULATOR_SCRIPTS: path, SIMULATOR_CONTROL: 'true' } });
  });

  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(named(({ info }) => info === 'js run'))('the example of %s runs', async (where, { code }) => {
    const file = join(folder, `${where.replaceAll(/\W/g, '-')}.mjs`);
    await writeFile(file, code.replaceAll(ORIGIN, service.origin));
    await expect(run(process.execPath, [file], folder)).resolves.toMatchObject({
      code: 0,
      output: expect.stringMatching(/\w/),
    });
  });

  for (const [where, { code }] of named(({ info }) => info === 'sh run')) {
    itWith('curl', `${where} runs`, async () => {
      const { code: exit, output } = await run('sh', ['-ec', code.replaceAll(ORIGIN, service.origin)], folder);
      expect(exit).toBe(0);
      expect(output).toContain('"object":"response"');
    });
  }

  it('the documentation has examples that readers copy', () => {
    expect(named(({ info }) => info.endsWith(' run')).length).toBeGreaterThan(8);
  });
});

describe('a file that readers copy', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-docs-'));
    for (const name of KEYS) process.env[name] = `sk-${name}`;
  });

  afterAll(async () => {
    for (const name of KEYS) Reflect.deleteProperty(process.env, name);
    await rm(folder, { recursive: true, force: true });
  });

  it.each(named(({ info, code }) => info === 'yaml' && /^providers:/m.test(code)))(
    'the providers file of %s is valid',
    async (_, { code }) => {
      const path = join(folder, 'providers.yaml');
      await writeFile(path, code);
      const dependencies = { clock: new FakeClock(), ids: new SequentialIdGenerator(), random: new SystemRandom() };
      const kinds = new Map<string, ProviderKind>([
        ['chat-completions', new ChatCompletionsKind(dependencies)],
        ['responses', new ResponsesKind(dependencies, null)],
      ]);
      await expect(readProvidersFile(path, kinds)).resolves.toBeDefined();
    },
  );

  it.each(named(({ info, code }) => info === 'yaml' && /^turns:/m.test(code)))(
    'the script of %s is valid',
    async (_, { code }) => {
      const path = join(folder, 'script.yaml');
      await writeFile(path, code);
      await using service = await startService({ environment: { SIMULATOR_SCRIPTS: path } });
      await expect(service.client().models.retrieve('script')).resolves.toMatchObject({ id: 'script' });
    },
  );
});

describe('the pages that show examples/', () => {
  it.each([
    ['extending-providers', 'provider/acme.provider.ts'],
    ['extending-providers', 'provider/acme.provider.spec.ts'],
    ['extending-tools', 'platform/stock-tools.ts'],
    ['extending-tools', 'platform/weather-tool.ts'],
    ['extending-tools', 'platform/help-command.ts'],
    ['extending', 'platform/platform.ts'],
    ['extending-backends', 'platform/audited-backend.spec.ts'],
  ])('docs/%s.md shows examples/%s as it is', (page, path) => {
    const shown = blocksOf(`docs/${page}.md`).map((block) => onOneLine(block.code));
    expect(shown).toContain(onOneLine(readText(`examples/${path}`)));
  });
});

describe('docs/how-to/write-a-provider.md', () => {
  it('docs/how-to/write-a-provider.md shows examples/provider/echo.provider.ts as it is', () => {
    const shown = blocksOf('docs/how-to/write-a-provider.md').map((block) => onOneLine(block.code));
    expect(shown).toContain(onOneLine(readText('examples/provider/echo.provider.ts')));
  });
});

/** What prettier wraps depends on the length of paths. */
function onOneLine(code: string): string {
  return code
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/,? ([}\])])/g, ' $1')
    .trim();
}
