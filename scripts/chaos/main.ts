/**
 * Kills the service and its database at random, under load, and checks that everything that was acknowledged survives: `npm run chaos --
 * --state sqlite|postgres|redis --minutes 30`. `--help` lists the options, docs/reliability.md says what is promised.
 */
import { createWriteStream, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';

import { SeededRandom } from '../../src/simulator/seeded-random.ts';
import { OptionError } from '../options.ts';
import { Checker } from './check.ts';
import { Fleet } from './fleet.ts';
import { LONGEST_OUTAGE_MS } from './insist.ts';
import { Ledger, modelOf, TURN_KINDS } from './ledger.ts';
import { Load } from './load.ts';
import { type ChaosOptions, HELP, readOptions } from './options.ts';
import { plantFaults } from './plant.ts';
import { checkPlaces, checkStarts, checkUsage, type End, placesOf, settle } from './quiet.ts';
import { toDetails, toTable } from './table.ts';
import { Webhooks } from './webhooks.ts';

const PROGRESS_MS = 30_000;
/** What is acknowledged between two kills, for each client. */
const BETWEEN_KILLS = [1, 10] as const;
/** Responses that are looked at between two kills. */
const LOOKED_AT = 20;

/** Rejects when somebody ends the command: what it has started is then removed. */
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => reject(new Error(`ended by ${signal}`)));
});
interrupted.catch(() => undefined);

try {
  const options = readOptions(process.argv.slice(2));
  if (options === null) process.stdout.write(HELP);
  else process.exitCode = (await run(options)) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof OptionError ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
// Clients that were left behind may still wait for an answer.
process.exit();

/** Whether nothing was found. */
async function run(options: ChaosOptions): Promise<boolean> {
  const { state, seed, workers, latency } = options;
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-chaos-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const webhooks = resources.use(await Webhooks.open());
  const ledger = new Ledger();
  const random = new SeededRandom(seed, 'kills');
  const log = createWriteStream('', { fd: openSync(options.log ?? devNull, 'a') });
  const environment = { ...(await variables(directory, { workers, latency })), ...webhooks.environment };
  const fleet = resources.use(await Fleet.start({ state, environment, ledger, random, log }));
  process.stdout.write(`STATE=${state}, seed ${seed}, ${workers} workers: ${fleet.addresses.join(' ')}\n`);

  const began = performance.now();
  const progress = setInterval(() => {
    const seconds = Math.round((performance.now() - began) / 1000);
    process.stdout.write(
      `${seconds} s: ${ledger.acknowledgements} acknowledged, ${fleet.kills} kills, ${ledger.findings.length} violations\n`,
    );
  }, PROGRESS_MS);
  resources.defer(() => clearInterval(progress));
  const work = async (): Promise<void> => {
    const load = new Load(workers, seed, { fleet, ledger, failNextWebhook: () => webhooks.failNext() });
    const checker = new Checker(fleet, ledger, new SeededRandom(seed, 'checks'));
    const [least, most] = [BETWEEN_KILLS[0] * workers, BETWEEN_KILLS[1] * workers];
    while (!isOver(options.until, fleet.kills, performance.now() - began)) {
      await Promise.race([ledger.more(random.pickInteger(least, most)), load.ended]);
      await Promise.all([fleet.strike(), checker.checkSome(LOOKED_AT)]);
    }
    const settling: End = { fleet, ledger, random, webhooks, workers, patienceMs: LONGEST_OUTAGE_MS };
    await settle(settling, load);
    if (options.plant) await plantFaults(await fleet.pick(random), ledger, webhooks);
    // What was planted does not heal.
    const end = options.plant ? { ...settling, patienceMs: 0 } : settling;
    await checkUsage(end);
    await checker.checkAll(webhooks);
    await checkPlaces(end);
    await checkStarts(end);
  };
  await Promise.race([work(), interrupted]);

  const { findings } = ledger;
  const kills = [...fleet.strikes].map(([strike, count]) => `${count} ${strike}`).join(', ');
  process.stdout.write(`\n${toTable(ledger)}\n${fleet.kills} kills (${kills}), STATE=${state}, seed ${seed}\n`);
  process.stderr.write(toDetails(findings));
  return findings.length === 0;
}

function isOver(until: ChaosOptions['until'], kills: number, elapsedMs: number): boolean {
  return 'kills' in until ? kills >= until.kills : elapsedMs >= until.minutes * 60_000;
}

/** The variables of the services: short leases and few places, so that both are met often. */
async function variables(
  directory: string,
  { workers, latency }: Pick<ChaosOptions, 'workers' | 'latency'>,
): Promise<Readonly<Record<string, string>>> {
  const limits = TURN_KINDS.map((kind) => ({
    tenant: '*',
    model: modelOf(kind),
    concurrent_turns: placesOf(kind, workers),
  }));
  const limitsFile = join(directory, 'limits.json');
  await writeFile(limitsFile, JSON.stringify({ limits }));
  return {
    LOG_LEVEL: 'warn',
    LIMITS_FILE: limitsFile,
    MAX_RUNNING_TURNS: String(limits.reduce((sum, limit) => sum + limit.concurrent_turns, 0)),
    SIMULATOR_CONTROL: 'true',
    SIMULATOR_LATENCY: latency,
    SIMULATOR_BACKGROUND_LATENCY: '50/10',
    SESSION_LOCK_TTL_MS: '5000',
    BACKGROUND_LEASE: '20',
    // A response that keeps losing its process fails by design; here it has to be completed.
    BACKGROUND_MAX_ATTEMPTS: '1000',
    DRAIN_TIMEOUT_MS: '2000',
    EVENT_LOG_TTL: '86400',
  };
}
