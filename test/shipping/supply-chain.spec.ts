import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { PROJECT, readShipped } from '../support/shipped-files.js';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
}

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script of the project to its end. */
function run(script: string, ...args: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    const path = join(PROJECT, 'scripts/supply-chain', script);
    execFile(process.execPath, [path, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const lock = JSON.parse(await readShipped('package-lock.json')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');

describe('the lock file', () => {
  it('the lock file fixes the content of every package, from the public registry', () => {
    const loose = locked.filter(
      ([, { integrity, resolved }]) =>
        // Without an address, npm takes it from the registry that it is configured with.
        !/^sha512-/.test(integrity ?? '') || !/^(?:https:\/\/registry\.npmjs\.org\/|$)/.test(resolved ?? ''),
    );
    expect(loose.map(([path]) => path)).toEqual([]);
    expect(locked.length).toBeGreaterThan(100);
  });

  it('the lock file is of ranges that say a version', async () => {
    const manifest = JSON.parse(await readShipped('package.json')) as Readonly<Record<string, Record<string, string>>>;
    const ranges = ['dependencies', 'devDependencies', 'peerDependencies', 'overrides'].flatMap((kind) =>
      Object.entries(manifest[kind] ?? {}),
    );
    expect(ranges.filter(([, range]) => !/^(?:npm:[a-z-]+@)?[~^]?\d+\.\d+\.\d+/.test(range))).toEqual([]);
  });
});

describe('the bill of materials', () => {
  it('the bill of materials has the packages of production, peers and what the build copies among them, each with its version', async () => {
    const { code, stdout } = await run('sbom.ts');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^sbom\.cdx\.json: \d+ packages/) });
    const bill = JSON.parse(await readFile(join(PROJECT, 'sbom.cdx.json'), 'utf8')) as {
      readonly bomFormat: string;
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    expect(bill.bomFormat).toBe('CycloneDX');
    const versions = new Map(bill.components.map(({ name, version }) => [name, version]));
    expect(versions.get('fastify')).toBe(lock.packages['node_modules/fastify']?.version);
    expect([...versions.keys()]).toEqual(
      expect.arrayContaining(['pg', 'bullmq', 'rxjs', 'ws', 'class-validator', 'uuid']),
    );
    expect(['jest', 'openai', 'typescript'].filter((name) => versions.has(name))).toEqual([]);
  });
});

describe('the licences', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-licenses-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** A bill with one package. */
  async function billOf(licenses: readonly object[]): Promise<string> {
    const path = join(folder, 'bill.json');
    await writeFile(path, JSON.stringify({ components: [{ name: 'one', version: '1.0.0', licenses }] }));
    return path;
  }

  it('the licences of production are all allowed', async () => {
    const { code, stdout, stderr } = await run('licenses.ts');
    expect({ code, stderr: stderr.replaceAll(/^npm warn .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^MIT +\d+$/m);
  });

  it.each<[string, readonly object[]]>([
    ['one that is not on the list', [{ license: { id: 'AGPL-3.0-only' } }]],
    ['none at all', []],
    ['one of two conditions that is not on the list', [{ expression: '(MIT AND GPL-3.0-only)' }]],
    ['one without an id', [{ license: { name: 'SEE LICENSE IN FILE' } }]],
  ])('licences are refused with %s', async (_, licenses) => {
    const { code, stderr } = await run('licenses.ts', await billOf(licenses));
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^one@1\.0\.0: .* is not allowed\n$/) });
  });

  it('licences are allowed when one of two alternatives is on the list', async () => {
    const { code } = await run('licenses.ts', await billOf([{ expression: '(MIT OR GPL-3.0-only)' }]));
    expect(code).toBe(0);
  });
});
