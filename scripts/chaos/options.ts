import { parseArgs } from 'node:util';
import { randomInt } from 'node:crypto';

import { OptionError, readCount } from '../options.ts';

/** A state that outlives its processes. */
export type State = 'sqlite' | 'postgres' | 'redis';

/** What `npm run chaos` was asked for. */
export interface ChaosOptions {
  readonly state: State;
  /** When to stop: after so many minutes, or after so many kills. */
  readonly until: { readonly minutes: number } | { readonly kills: number };
  readonly seed: number;
  readonly workers: number;
  /** How long the models take, as SIMULATOR_LATENCY says it. */
  readonly latency: string;
  /** A file to which the services write. */
  readonly log: string | undefined;
  /** Whether to plant faults, which must be found. */
  readonly plant: boolean;
}

/** What `--help` says. */
export const HELP = `npm run chaos -- --state sqlite|postgres|redis (--minutes N | --kills N) [--seed S] [--workers W] [--latency F/T]

Starts the built service over a state of its own, puts mixed load on it, kills its processes and its database at
random, and checks that everything that was acknowledged is there, once. Prints a table; exit code 1 when it finds a
violation, of which stderr has the first ten of each sort.

  --state     sqlite (one process), postgres or redis (two processes each; redis with appendfsync always)
  --minutes   how long the load and the kills last
  --kills     the same by the number of kills
  --seed      repeats the choices of an earlier run: what is sent, who is killed, after how many acknowledgements.
              What meets what is up to the machine
  --workers   clients, spread over the kinds of turns (default 10)
  --latency   how long models take until they begin, and for each token, ms (default 20/2). Slower ones make fewer turns
              of the same time, of which more are running when something is killed
  --log       a file for what the services write, from warnings on
  --plant     plants faults before the check, to see that they are found: the table must not be clean
`;

const STATES: readonly string[] = ['sqlite', 'postgres', 'redis'] satisfies readonly State[];

/** Reads the command line; null when it asks for help. Throws an OptionError. */
export function readOptions(args: readonly string[]): ChaosOptions | null {
  const values = parse(args);
  if (values.help === true) return null;
  const { state = '', minutes, kills } = values;
  if (!STATES.includes(state)) throw new OptionError(`--state: expected ${STATES.join(', ')}, but got '${state}'`);
  if ((minutes === undefined) === (kills === undefined)) throw new OptionError('expected either --minutes or --kills');
  return {
    state: state as State,
    until:
      kills === undefined ? { minutes: readCount('--minutes', minutes ?? '') } : { kills: readCount('--kills', kills) },
    seed: values.seed === undefined ? randomInt(1, 1_000_000) : readCount('--seed', values.seed),
    workers: readCount('--workers', values.workers ?? '10'),
    latency: readLatency(values.latency ?? '20/2'),
    log: values.log,
    plant: values.plant === true,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        state: text,
        minutes: text,
        kills: text,
        seed: text,
        workers: text,
        latency: text,
        log: text,
        plant: flag,
        help: flag,
      },
    }).values;
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error));
  }
}

function readLatency(text: string): string {
  if (/^\d{1,5}\/\d{1,5}$/.test(text)) return text;
  throw new OptionError(`--latency: expected two whole numbers such as 20/2, but got '${text}'`);
}
