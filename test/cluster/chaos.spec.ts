// Slow: starts the built service as several processes and kills them; background turns of the dead go on after a lease of 20 s.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { PROJECT } from '../support/shipped-files.js';
import { EVERY_STATE } from '../support/state-backends.js';

jest.setTimeout(900_000);

const COLUMNS = ['acknowledged', 'lost', 'doubled', 'gaps', 'refused starts', 'leaked places', 'uncounted tokens'];
const KINDS = ['JSON', 'SSE', 'WebSocket', 'background', 'conversations', 'webhooks', 'service'];
const CLEAN = Object.fromEntries(KINDS.map((kind) => [kind, [0, 0, 0, 0, 0, 0]]));

/** The command `npm run chaos`, which makes its files in a folder of the test. */
class ChaosRun {
  private readonly child: ChildProcessByStdio<null, Readable, Readable>;
  stdout = '';
  stderr = '';
  readonly exited: Promise<number | null>;

  constructor(folder: string, args: readonly string[]) {
    this.child = spawn(process.execPath, [join(PROJECT, 'scripts/chaos/main.ts'), ...args], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout.setEncoding('utf8').on('data', (chunk: string) => (this.stdout += chunk));
    this.child.stderr.setEncoding('utf8').on('data', (chunk: string) => (this.stderr += chunk));
    this.exited = once(this.child, 'close').then(([code]) => code as number | null);
  }

  interrupt(): void {
    this.child.kill('SIGINT');
  }

  /** Resolves when it has written its first line; that is, when its services serve. Throws when it ends before. */
  async serves(): Promise<void> {
    const ended = this.exited.then((code) => Promise.reject(new Error(`ended with ${code}: ${this.stderr}`)));
    while (!this.stdout.includes('\n')) await Promise.race([once(this.child.stdout, 'data'), ended]);
    ended.catch(() => undefined);
  }

  /** The numbers of its table by kind: what was acknowledged, and the violations in the order of the columns. */
  get table(): ReadonlyMap<string, { readonly acknowledged: number; readonly violations: readonly number[] }> {
    const [head = '', ...rows] = this.stdout.slice(this.stdout.indexOf('\n\n') + 2).split('\n');
    expect(head.trim().split(/ {2,}/)).toEqual(COLUMNS);
    return new Map(
      rows.slice(0, KINDS.length).map((row) => {
        const [kind = '', ...cells] = row.trim().split(/ {2,}/);
        const [acknowledged = 0, ...violations] = cells.map(Number);
        return [kind, { acknowledged, violations }];
      }),
    );
  }

  get violations(): Readonly<Record<string, readonly number[]>> {
    return Object.fromEntries([...this.table].map(([kind, { violations }]) => [kind, violations]));
  }
}

describe('npm run chaos', () => {
  let folder: string;
  let current: ChaosRun | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-chaos-test-'));
    // PostgreSQL runs as another user.
    await chmod(folder, 0o755);
  });

  afterEach(async () => {
    current?.interrupt();
    await current?.exited;
    await rm(folder, { recursive: true, force: true });
  });

  function start(...args: readonly string[]): ChaosRun {
    current = new ChaosRun(folder, ['--workers', '3', '--latency', '100/10', ...args]);
    return current;
  }

  // Both kinds of kills that a single process can have.
  const kills = (state: string): string => (state === 'sqlite' ? '2' : '3');

  it.each(EVERY_STATE.map(({ state }) => state).filter((state) => state !== 'memory'))(
    'npm run chaos finds that nothing is lost or doubled with STATE=%s when processes and databases are killed',
    async (state) => {
      // With a database, this seed kills all processes, one of them, and one together with the database.
      const run = start('--state', state, '--kills', kills(state), '--seed', '7');
      expect({ code: await run.exited, stderr: run.stderr }).toEqual({ code: 0, stderr: '' });
      expect(run.violations).toEqual(CLEAN);
      for (const { acknowledged } of run.table.values()) expect(acknowledged).toBeGreaterThan(0);
      expect(run.stdout).toMatch(new RegExp(`\\n${kills(state)} kills \\(.*\\), STATE=${state}, seed 7\\n$`));
      expect(await readdir(folder)).toEqual([]);
    },
  );

  it('npm run chaos finds the faults that are planted', async () => {
    const run = start('--state', 'sqlite', '--kills', '1', '--seed', '7', '--plant');
    expect(await run.exited).toBe(1);
    expect(run.violations).toEqual({
      ...CLEAN,
      JSON: [1, 0, 0, 0, 0, 0],
      SSE: [0, 0, 0, 0, 1, 0],
      WebSocket: [0, 0, 0, 0, 0, 1_000_000],
      background: [0, 0, 1, 0, 0, 0],
      conversations: [0, 1, 0, 0, 0, 0],
      webhooks: [0, 1, 0, 0, 0, 0],
    });
    expect(run.stderr.trim().split('\n').sort()).toEqual([
      expect.stringMatching(/^JSON, lost: resp_\w+ .*404/),
      expect.stringMatching(/^SSE, leaked places: .* 1 turns were refused: .*429/),
      'WebSocket, uncounted tokens: usage 1000000 tokens',
      expect.stringMatching(/^background, gaps: resp_\w+ its stream is another one/),
      expect.stringMatching(/^conversations, doubled: conv_\w+ has 'Client .*' twice$/),
      expect.stringMatching(/^webhooks, doubled: resp_\w+ came with the ids evt_\w+, another-id$/),
    ]);
  });

  it('npm run chaos ends what it has started when it is interrupted', async () => {
    const run = start('--state', 'postgres', '--minutes', '60');
    await run.serves();
    run.interrupt();
    expect({ code: await run.exited, stderr: run.stderr }).toEqual({ code: 1, stderr: 'Error: ended by SIGINT\n' });
    expect(await readdir(folder)).toEqual([]);
    for (const [address] of run.stdout.matchAll(/http:\S+/g))
      await expect(fetch(address)).rejects.toThrow('fetch failed');
  });

  it.each([
    [['--state', 'memory', '--kills', '1'], "--state: expected sqlite, postgres, redis, but got 'memory'\n"],
    [
      ['--state', 'sqlite', '--kills', '1', '--latency', 'slow'],
      "--latency: expected two whole numbers such as 20/2, but got 'slow'\n",
    ],
    [['--state', 'sqlite', '--kills', 'many'], "--kills: expected a whole number above 0, but got 'many'\n"],
  ])('npm run chaos refuses %j in one line', async (args, message) => {
    const run = start(...args);
    expect({ code: await run.exited, stdout: run.stdout, stderr: run.stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: message,
    });
  });

  it('npm run chaos says what it does', async () => {
    const run = start('--help');
    expect({ code: await run.exited, stderr: run.stderr }).toEqual({ code: 0, stderr: '' });
    expect(run.stdout).toContain('npm run chaos -- --state sqlite|postgres|redis');
  });
});
