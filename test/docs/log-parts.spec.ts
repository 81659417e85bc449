import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { readText } from './pages.js';

it('docs/deployment.md lists the parts that have lines in the log, and no others', async () => {
  const files = (await readdir('src', { recursive: true })).filter((path) => /(?<!\.spec)\.ts$/.test(path));
  const sources = (await Promise.all(files.map((path) => readFile(join('src', path), 'utf8')))).join('\n');
  const literal = sources.matchAll(/new Logger\('(\w+)'\)/g);
  // The compiler gives decorated classes another name, `UsageRecorder_1`, which the package would log.
  expect(sources).not.toMatch(/new Logger\(\w+\.name\)/);
  // It names its logger after the class that extends it.
  const receivers = sources.matchAll(/class (\w+) extends NoticeReceiver/g);
  const parts = new Set([...literal, ...receivers].map(([, name]) => name));
  const [, table = ''] = /\| part \| lines \|\n\|---\|---\|\n((?:\|.+\n)+)/.exec(readText('docs/deployment.md')) ?? [];
  const listed = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)]);
  expect(listed.map(([, name]) => name).toSorted()).toEqual([...parts].toSorted());
});
