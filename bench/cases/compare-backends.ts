import { compare } from '../measure.ts';
import { Backends, type State } from '../processes/backends.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Comparison, Goal, Sizes } from './benchmark-case.ts';
import { CPU_PER_TURN } from './chained-turns.ts';
import { startService } from './programs.ts';
import { StoredTurns } from './stored-turns.ts';

type Way = 'http' | 'socket' | 'together';

/** What the comparisons call the ways. */
const NAMES: Readonly<Record<Way, string>> = {
  http: 'http',
  socket: 'warm socket',
  together: 'http, 32 at once',
};

const WAYS = Object.keys(NAMES) as readonly Way[];

const notAbove = (most: number): readonly Goal[] => [{ figure: CPU_PER_TURN, of: 'ratio', atMost: most }];

/** Each backend with its floor, and the goals. */
const PAIRS: readonly {
  readonly service: State;
  readonly floor: State;
  readonly goals?: Readonly<Partial<Record<Way, readonly Goal[]>>>;
}[] = [
  { service: 'sqlite', floor: 'memory', goals: { socket: notAbove(1.5) } },
  { service: 'postgres', floor: 'memory' },
  { service: 'redis', floor: 'memory' },
  { service: 'redis', floor: 'postgres', goals: { http: notAbove(1), socket: notAbove(1), together: notAbove(1) } },
];

/** The cost of a stored turn by backend. Only the CPU of the service counts, not that of databases. */
export async function compareBackends(sizes: Sizes): Promise<readonly Comparison[]> {
  await using backends = await Backends.start();
  await using resources = new AsyncDisposableStack();
  const load = resources.use(new LoadGenerator());
  const turns = new Map<State, StoredTurns>();
  for (const { state, environment } of backends.all) {
    const service = resources.use(await startService(environment));
    turns.set(state, new StoredTurns(service, load, sizes));
    await turns.get(state)?.http();
  }
  await backends.analyze();
  const comparisons: Comparison[] = [];
  for (const { service, floor, goals } of PAIRS) {
    const [measured, reference] = [turns.get(service), turns.get(floor)];
    if (measured === undefined || reference === undefined) continue;
    for (const way of WAYS) {
      const figures = await compare({ service: measured[way], floor: reference[way] }, sizes);
      comparisons.push({ name: `saves, ${service} ÷ ${floor}, ${NAMES[way]}`, figures, goals: goals?.[way] ?? [] });
    }
  }
  return comparisons;
}
