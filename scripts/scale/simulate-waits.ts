import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** A process under load. */
export interface Streams {
  /** Streams that run at the same time. */
  readonly count: number;
  /** Deltas per second of each, which arrive at random moments. */
  readonly rate: number;
  /** Deltas of a turn; when it ends, the next one begins. */
  readonly deltas: number;
  /** CPU of a turn and of a delta, µs. */
  readonly turn: number;
  readonly delta: number;
}

/** How long pieces of work wait for those before them, µs, and the share of the time in which there is work. */
export interface Waits {
  readonly busy: number;
  readonly median: number;
  readonly p99: number;
}

const SECONDS = 30;
const SEED = 1;

/** Simulates one event loop, which does one piece of work after the other in the order in which they arrive. The same streams give the same waits. */
export function simulateWaits({ count, rate, deltas, turn, delta }: Streams): Waits {
  const random = xoroshiro128plus(SEED);
  const deltaRate = count * rate;
  const share = 1 / (1 + deltas);
  // Turns begin as often as they end, so arrivals are those of both kinds together.
  const arrivals = deltaRate * (1 + 1 / deltas) * SECONDS;
  const pause = (SECONDS * 1e6) / arrivals;
  const waits: number[] = [];
  let now = 0;
  let free = 0;
  let worked = 0;
  for (let index = 0; index < arrivals; index += 1) {
    now += -Math.log(1 - uniformFloat64(random)) * pause;
    const cost = uniformFloat64(random) < share ? turn : delta;
    waits.push(Math.max(0, free - now));
    free = Math.max(free, now) + cost;
    worked += cost;
  }
  waits.sort((one, other) => one - other);
  const at = (part: number): number => waits[Math.floor(waits.length * part)] ?? 0;
  return { busy: worked / Math.max(now, free), median: at(0.5), p99: at(0.99) };
}
