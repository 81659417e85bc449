import { parseArgs } from 'node:util';

import type { BenchmarkCase, Sizes } from './cases/benchmark-case.ts';

/** What the command line asks for. */
export interface Options {
  readonly cases: readonly BenchmarkCase[];
  readonly sizes: Sizes;
  /** Where everything is written as JSON. */
  readonly json: string | undefined;
}

/** A command line that cannot be followed. Its message is one line. */
export class OptionError extends Error {}

const FULL: Sizes = {
  streams: 100,
  mostStreams: 256,
  deltas: 200,
  chain: 1000,
  saves: 2000,
  requests: 300,
  rounds: 11,
  longRounds: 5,
  warmUps: 2,
  turnsPerStream: 5,
};
const QUICK: Sizes = { ...FULL, saves: 1000, requests: 100, rounds: 5, longRounds: 1, warmUps: 1, turnsPerStream: 3 };

/** Reads the command line. Throws an OptionError. */
export function readOptions(args: readonly string[], cases: readonly BenchmarkCase[]): Options {
  const values = parse(args);
  const base = values.quick === true ? QUICK : FULL;
  const rounds = readCount('rounds', values.rounds, base.rounds);
  return {
    cases: values.case === undefined ? cases : values.case.map((name) => findCase(name, cases)),
    sizes: {
      ...base,
      streams: readCount('streams', values.streams, base.streams),
      mostStreams: readCount('most-streams', values['most-streams'], base.mostStreams),
      deltas: readCount('deltas', values.deltas, base.deltas),
      chain: readCount('chain', values.chain, base.chain),
      saves: readCount('saves', values.saves, base.saves),
      requests: readCount('requests', values.requests, base.requests),
      rounds,
      longRounds: Math.min(rounds, base.longRounds),
    },
    json: values.json,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        case: { type: 'string', multiple: true },
        quick: { type: 'boolean' },
        json: { type: 'string' },
        streams: { type: 'string' },
        'most-streams': { type: 'string' },
        deltas: { type: 'string' },
        chain: { type: 'string' },
        saves: { type: 'string' },
        requests: { type: 'string' },
        rounds: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message.split('\n')[0] : String(error));
  }
}

function findCase(name: string, cases: readonly BenchmarkCase[]): BenchmarkCase {
  const found = cases.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new OptionError(`--case: there is no '${name}', but ${cases.map((one) => one.name).join(', ')}`);
}

function readCount(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new OptionError(`--${name}: expected a whole number above 0, but got '${text}'`);
  return Number(text);
}
