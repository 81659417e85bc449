import { execFile } from 'node:child_process';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { ERROR_CODES } from '../../src/index.js';
import { readText, ROOT } from './pages.js';

describe('what the documentation takes from the code', () => {
  it('what the documentation takes from the code is current', async () => {
    const output = await new Promise<string>((resolve) => {
      const script = join(ROOT, 'scripts/docs/main.ts');
      execFile(process.execPath, [script, '--check'], (error, _, stderr) => {
        resolve(error === null ? stderr : `${stderr}${error.message}`);
      });
    });
    expect(output).toBe('');
  });

  it('the table of errors has a row for each error code, with its status and type', () => {
    const rows = [...readText('docs/errors.md').matchAll(/^\| (\d+) \| `(\w+)` \| `(\w+)` \| .+ \|$/gm)];
    const shown = rows.map(([, status, type, code]) => [code, { status: Number(status), type }] as const);
    expect(Object.fromEntries(shown)).toMatchObject(ERROR_CODES);
  });
});
