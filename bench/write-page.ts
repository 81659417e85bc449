/**
 * Writes a run of the benchmark into docs/benchmark.md: `node bench/write-page.ts <file>`, where the file is what `--json`
 * wrote. With `--check` nothing is written, and the exit code says whether the page shows that run.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { replaceGenerated } from '../scripts/docs/replace-generated.ts';
import { toPage } from './report/page.ts';
import { readReport } from './report/report.ts';

const PAGE = new URL('../docs/benchmark.md', import.meta.url);

try {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { check: { type: 'boolean' } } });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new Error('expected one file, written by `--json`');
  const page = await readFile(PAGE, 'utf8');
  const written = replaceGenerated(page, 'benchmark', toPage(await readReport(file)));
  if (values.check !== true) await writeFile(PAGE, written);
  else if (written !== page) throw new Error(`docs/benchmark.md does not show ${file}: npm run bench:docs`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
