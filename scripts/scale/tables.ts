import { BUSY, COSTS, type Demand, demandOf, type Load, type State } from './model.ts';
import { simulateWaits } from './simulate-waits.ts';

/** Loads that the page shows: agents with a turn of 300 deltas each minute. */
const SHOWN: readonly Load[] = [10_000, 100_000, 1_000_000].map((sockets) => ({
  sockets,
  turnsPerMinute: 1,
  deltas: 300,
  days: 30,
}));
/** Streams of one process, 40 deltas a second each. */
const STREAMS = [125, 250, 375, 500, 600, 700];

const ROWS: readonly (readonly [label: string, of: (demand: Demand) => string])[] = [
  ['turns a second', ({ turnsPerSecond }) => count(turnsPerSecond)],
  ['deltas a second', ({ deltasPerSecond }) => count(deltasPerSecond)],
  [`processes, each ${BUSY * 100} % busy`, ({ processes }) => count(processes)],
  ['memory of each, MB', ({ processBytes }) => count(processBytes / 1e6)],
  ['cores of the state that are busy', ({ stateCores }) => count(stateCores)],
  ['connections to it', ({ stateConnections }) => count(stateConnections)],
  ['its log, MB a second', ({ written }) => (written === 0 ? '–' : count(written / 1e6))],
  ['what it keeps, GB', ({ stored }) => count(stored / 1e9)],
];

/** What loads need, one beside the other. */
export function toDemandTable(loads: readonly Load[], state: State): string {
  const demands = loads.map((load) => demandOf(load, COSTS[state]));
  const head = [`\`STATE=${state}\``, ...loads.map(({ sockets }) => `${count(sockets)} sockets`)];
  return toTable(
    head,
    ROWS.map(([label, of]) => [label, ...demands.map(of)]),
  );
}

/** The loads of the page, for each state. */
export function toDemandTables(): string {
  return [toDemandTable(SHOWN, 'postgres'), toDemandTable(SHOWN, 'redis')].join('\n\n');
}

/** How long a delta waits in a process, by the number of streams. */
export function toWaitTable(): string {
  const { turn, delta } = COSTS.postgres;
  return toTable(
    ['streams', 'busy, %', 'wait of a delta, median, ms', 'p99, ms'],
    STREAMS.map((streams) => {
      const { busy, median, p99 } = simulateWaits({ count: streams, rate: 40, deltas: 300, turn, delta });
      return [count(streams), count(busy * 100), (median / 1000).toFixed(2), (p99 / 1000).toFixed(2)];
    }),
  );
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** A number with two digits that count, and thousands apart. */
function count(value: number): string {
  const rounded = value >= 100 ? Math.round(value) : Number(value.toPrecision(2));
  return rounded.toLocaleString('en-US');
}
