import { mkdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Simulation } from 'antiphon/testing';

import { blocksOf, readText, ROOT } from './pages.js';

const PAGE = 'docs/aimock.md';
/** A row: number, task, lines of ours and of theirs. */
const ROW = /^\| (\d+) \| ([^|]+) \| (\d+), (\d+) \|/gm;

function codeOf(side: string): readonly string[] {
  return blocksOf(PAGE).flatMap(({ info, code }) => (info === `js ${side}` ? [code] : []));
}

const rows = [...readText(PAGE).matchAll(ROW)];
const [agent = ''] = codeOf('both');
const [start = '', ...tasks] = codeOf('antiphon');
const [, ...theirTasks] = codeOf('aimock');

const linesOf = (code = ''): number => code.trim().split('\n').length;

/** The page as a module. */
interface Page {
  readonly sim: Simulation;
  readonly tasks: readonly (() => Promise<void>)[];
}

describe('the ten tasks beside aimock', () => {
  let folder: string;
  let page: Page;

  beforeAll(async () => {
    const functions = tasks.map((code) => `async () => {\n${code}}`);
    // In the repository, where it finds the package.
    mkdirSync(join(ROOT, '.cache'), { recursive: true });
    folder = await mkdtemp(join(ROOT, '.cache/ten-tasks-'));
    const file = join(folder, 'page.mjs');
    await writeFile(file, `${agent}${start}export { sim };\nexport const tasks = [${functions.join(',\n')}];\n`);
    page = (await import(pathToFileURL(file).href)) as Page;
  });
  beforeEach(() => page.sim.reset());
  afterAll(async () => {
    await page.sim.close();
    await rm(folder, { recursive: true });
  });

  it('each of the ten tasks has a snippet on both sides', () => {
    expect([rows.length, tasks.length, theirTasks.length]).toEqual([10, 10, 10]);
  });

  it.each(rows.map(([, number, task]) => [Number(number), task] as const))(
    'the snippet of task %i works: %s',
    async (number) => {
      // It checks by itself.
      await page.tasks[number - 1]?.();
    },
  );

  it('the ten tasks beside aimock have as many lines as the table says', () => {
    const said = rows.map(([, , , ours, theirs]) => [Number(ours), Number(theirs)]);
    expect(said).toEqual(tasks.map((code, index) => [linesOf(code), linesOf(theirTasks[index])]));
  });
});
