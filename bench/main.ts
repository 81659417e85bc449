/**
 * The benchmark: `npm run bench -- [--case <name>]… [--quick | --smallest] [--json <file> | --into <file>] [--compare <file>]`, or
 * `--report <file>` to show an earlier run. Figures are compared with a floor.
 */
import { availableParallelism, cpus, platform, release } from 'node:os';
import { inspect } from 'node:util';

import { CASES } from './cases/index.ts';
import { Bench, runCase } from './harness/bench.ts';
import { OptionError, readOptions } from './options.ts';
import { toMovementText } from './report/movements.ts';
import { readReport, type Report, ReportError, toTable, writeReport } from './report/report.ts';

// Child processes are killed on exit.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

async function run({ cases: names, sizes, isProof, json, into }: ReturnType<typeof readOptions>): Promise<Report> {
  const cases = names === undefined ? CASES : names.flatMap((name) => CASES.filter((one) => one.name === name));
  const machine = {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    system: `${platform()} ${release()}`,
    node: process.version,
    date: new Date().toISOString(),
  };
  const earlier = into === undefined ? undefined : await readReport(into);
  let report: Report = { machine, sizes, cases: [] };
  // What measures nothing need not start the same program for each case.
  await using common = isProof ? new Bench(sizes, true) : undefined;
  for (const one of cases) {
    if (process.stderr.isTTY) process.stderr.write(`${one.name} …\n`);
    await using own = new AsyncDisposableStack();
    const comparisons = await runCase(one, common ?? own.use(new Bench(sizes)));
    report = { ...report, cases: [...report.cases, { name: one.name, comparisons }] };
    // Writes results so far, even if a later case fails.
    if (json !== undefined) await writeReport(json, report);
    if (into !== undefined && earlier !== undefined) {
      const others = earlier.cases.filter(({ name }) => !report.cases.some((later) => later.name === name));
      const later = report.cases.map((measured) => ({ ...measured, machine }));
      await writeReport(into, { ...earlier, cases: [...others, ...later] });
    }
  }
  return report;
}

try {
  const options = readOptions(
    process.argv.slice(2),
    CASES.map(({ name }) => name),
  );
  const earlier = options.compare === undefined ? undefined : await readReport(options.compare);
  const report = options.report === undefined ? await run(options) : await readReport(options.report);
  process.stdout.write(toTable(report));
  if (earlier !== undefined) process.stdout.write(`\n${toMovementText(earlier, report)}`);
} catch (error) {
  const isOurs = error instanceof OptionError || error instanceof ReportError;
  process.stderr.write(`${isOurs ? error.message : inspect(error)}\n`);
  process.exitCode = 1;
}
