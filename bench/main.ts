/** The benchmark: `npm run bench -- [--case <name>]… [--quick] [--json <file>]`. Every figure is a ratio against a floor. */
import { writeFile } from 'node:fs/promises';

import { CASES } from './cases/index.ts';
import { describeMachine } from './machine.ts';
import { OptionError, readOptions } from './options.ts';
import type { Report } from './report/report.ts';
import { toTable } from './report/table.ts';

// What was started is killed on the way out.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

try {
  const { cases, sizes, json } = readOptions(process.argv.slice(2), CASES);
  const results: Report['cases'][number][] = [];
  for (const one of cases) results.push({ name: one.name, comparisons: await one.run(sizes) });
  const report: Report = { machine: describeMachine(), sizes, cases: results };
  process.stdout.write(toTable(report));
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
} catch (error) {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  process.stderr.write(`${error instanceof OptionError ? message : (stack ?? message)}\n`);
  process.exitCode = 1;
}
