import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterEach, describe, expect, it } from '@jest/globals';

import { endProcesses, startProcess } from '../support/process-service.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a command as its npm script does; rejects when its exit code is not 0. */
async function runCommand(name: string, args: readonly string[]): Promise<string> {
  return (await run(process.execPath, [`scripts/acceptance/${name}.ts`, ...args], { cwd: ROOT })).stdout;
}

afterEach(endProcesses);

describe('the commands for acceptance', () => {
  it('run sessions that do not see each other, in a service of their own', async () => {
    const output = await runCommand('sessions', ['--sessions', '40', '--turns', '2', '--at-once', '20']);
    expect(output).toMatch(/^40 sessions of 2 turns, 20 at once, 4 tenants: .* s\nturns: 80, .*\nno fault\n$/);
  });

  it('fail for a service that is wrong', async () => {
    const { origin } = await startProcess({ API_KEYS: 'red:one', SIMULATOR_GENERATOR: 'lorem' });
    const wrong = runCommand('sessions', [origin, '--key', 'two', '--sessions', '2', '--turns', '1']);
    await expect(wrong).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining('2 faults:') as unknown });
    await expect(runCommand('compliance', [origin, '--key', 'two'])).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('0 of 8 flows pass') as unknown,
    });
  });

  it('run the flows of the public suite against a service', async () => {
    const { origin } = await startProcess({ API_KEYS: 'red:one' });
    expect(await runCommand('compliance', [`${origin}/v1`, '--key', 'one'])).toContain('8 of 8 flows pass');
  });
});
