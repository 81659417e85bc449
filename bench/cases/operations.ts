import { compare } from '../measure.ts';
import { Databases } from '../processes/databases.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { CPU_PER_TURN } from './chained-turns.ts';
import { startCollector, startService } from './programs.ts';
import { StoredTurns } from './stored-turns.ts';

type Variables = Readonly<Record<string, string>>;

type Way = 'http' | 'socket' | 'together';

/** What the comparisons call the ways. */
const WAYS: Readonly<Record<Way, string>> = { http: 'http', socket: 'warm socket', together: 'http, 32 at once' };

/** Nothing that an operator adds. */
const OFF: Variables = { USAGE_RETENTION_DAYS: '0' };

/** Limits that no turn reaches. */
const LIMITS: Variables = {
  LIMIT_REQUESTS_PER_MINUTE: '1000000000',
  LIMIT_TOKENS_PER_MINUTE: '1000000000000',
  LIMIT_CONCURRENT_TURNS: '1000000',
};

const ON: Variables = { ...LIMITS, METRICS: 'true', USAGE_RETENTION_DAYS: '90' };

const ROUND_TRIPS = 'database round trips per turn';

/** What metrics, limits, usage and traces add to the CPU of a turn. */
export const operationsCase: BenchmarkCase = {
  name: 'operations',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    return [...(await compareInMemory(sizes)), await compareShared(sizes)];
  },
};

async function compareInMemory(sizes: Sizes): Promise<readonly Comparison[]> {
  await using collector = await startCollector();
  const traced = { ...ON, OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin, OTEL_TRACES_SAMPLER_ARG: '0.01' };
  // A floor for each: one that two are compared with would have had twice the turns to become fast.
  await using off = await startService(OFF);
  await using on = await startService(ON);
  await using untraced = await startService(OFF);
  await using traces = await startService(traced);
  await using load = new LoadGenerator();
  const turnsOf = (service: Server): StoredTurns => new StoredTurns(service, load, sizes);
  const sides = { off: turnsOf(off), on: turnsOf(on), untraced: turnsOf(untraced), traces: turnsOf(traces) };
  const comparisons: Comparison[] = [];
  for (const [way, name] of Object.entries(WAYS) as [Way, string][]) {
    const goals = (most: number): readonly Goal[] => [{ figure: CPU_PER_TURN, of: 'ratio', atMost: most }];
    comparisons.push(
      {
        name: `operations, on ÷ off, ${name}`,
        figures: await compare({ service: sides.on[way], floor: sides.off[way] }, sizes),
        goals: goals(1.05),
      },
      {
        name: `operations, on with 1 % traces ÷ off, ${name}`,
        figures: await compare({ service: sides.traces[way], floor: sides.untraced[way] }, sizes),
        goals: goals(1.25),
      },
    );
  }
  return comparisons;
}

/** With limits that replicas share. */
async function compareShared(sizes: Sizes): Promise<Comparison> {
  await using databases = await Databases.start();
  const start = async (variables: Variables): Promise<Server> =>
    startService({ ...variables, STATE: 'postgres', DATABASE_URL: await databases.create() });
  await using off = await start(OFF);
  await using on = await start({ ...OFF, ...LIMITS });
  await using load = new LoadGenerator();
  const side = (service: Server) => async () => {
    const turns = new StoredTurns(service, load, sizes);
    const before = await service.roundTrips();
    const sample = await turns.http();
    return { ...sample, [ROUND_TRIPS]: ((await service.roundTrips()) - before) / sizes.countedTurns };
  };
  await databases.analyze();
  const figures = await compare({ service: side(on), floor: side(off) }, sizes);
  // Settlements are joined, a few a second; the tenth leaves room for them.
  return {
    name: 'operations, shared limits ÷ none, http',
    figures,
    goals: [{ figure: ROUND_TRIPS, of: 'difference', atMost: 1.1 }],
  };
}
