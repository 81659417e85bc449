import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from '@jest/globals';

import { itWith } from '../support/tests-with-programs.js';
import { longestShutdown, readShipped, unknownVariables } from '../support/shipped-files.js';

const unit = await readShipped('deploy/systemd/antiphon.service');

/** The values of a setting, in order. */
function settings(name: string): readonly string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

it('the unit starts the service as `npm start` does, with variables that it reads', async () => {
  const variables = settings('Environment').flatMap((line) => line.split(' '));
  const { scripts } = JSON.parse(await readShipped('package.json')) as {
    readonly scripts: { readonly start: string };
  };
  const [before = '', command = ''] = scripts.start.split(' exec node ');
  expect(settings('ExecStart')).toEqual([`/usr/bin/node ${command}`]);
  expect(variables).toEqual(expect.arrayContaining(before.split(' ')));
  const names = variables.map((variable) => variable.replace(/=.*/, ''));
  expect(unknownVariables(names)).toEqual([]);
});

it('the unit gives the service more time to stop than a shutdown takes', () => {
  expect(Number(settings('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(longestShutdown({}) + 1000);
});

itWith('systemd-analyze', 'the unit is one that systemd understands', async (analyze) => {
  const folder = await mkdtemp(join(tmpdir(), 'antiphon-systemd-'));
  try {
    const file = join(folder, 'antiphon.service');
    // What it starts need not be here.
    await writeFile(file, unit.replace('/usr/bin/node', process.execPath));
    const { stdout, stderr } = await promisify(execFile)(analyze, ['verify', '--man=no', file]);
    expect((stdout + stderr).split('\n').filter((line) => line.includes('antiphon.service'))).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
