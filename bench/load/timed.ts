import { Agent, type IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';

import { monotonicMilliseconds, readStamp, STAMP_MARK } from '../traffic.ts';
import { type Outcome, type Percentiles, send, toPercentiles } from './http.ts';

const FRAME_END = '\n\n';
const DONE = `data: [DONE]${FRAME_END}`;

/** Concurrent streams whose deltas carry stamps. */
export interface TimedJob {
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  readonly streams: number;
  /** Time over which the start of streams is spread evenly, ms. Turns before all streams run are not measured. */
  readonly spreadMs: number;
  /** Measured turns of all streams together. All streams continue until the last of these turns has begun. */
  readonly turns: number;
  /** Deltas in each answer. */
  readonly deltas: number;
}

/** The outcome of timed streams, times in ms. Counts include turns that were not measured. */
export interface TimedOutcome extends Outcome {
  /** Frames of all turns, including `[DONE]`. */
  readonly frames: number;
  /** From the request to its first delta. */
  readonly firstDelta: Percentiles;
  /** From writing a delta at the upstream to receiving it. */
  readonly delay: Percentiles;
  /** From the request to the end of its answer. */
  readonly whole: Percentiles;
}

/** Runs streams and measures latencies. Rejects if an answer is incomplete. */
export async function runTimed({ url, body, deltas, streams, spreadMs, turns }: TimedJob): Promise<TimedOutcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: streams });
  const total = { turns: 0, frames: 0, bytes: 0 };
  const times = { firstDelta: [] as number[], delay: [] as number[], whole: [] as number[] };
  let left = turns;
  const start = monotonicMilliseconds();
  const stream = async (_: unknown, index: number): Promise<void> => {
    if (index > 0 && spreadMs > 0) await setTimeout((spreadMs * index) / streams);
    while (left > 0) {
      const sent = monotonicMilliseconds();
      const isMeasured = sent - start >= spreadMs;
      if (isMeasured) left -= 1;
      const answer = await readStamped(await send(url, body, agent), deltas);
      total.turns += 1;
      total.frames += answer.frames;
      total.bytes += answer.bytes;
      if (!isMeasured) continue;
      times.firstDelta.push(answer.firstDelta - sent);
      times.delay.push(...answer.delays);
      times.whole.push(monotonicMilliseconds() - sent);
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
  const seconds = (monotonicMilliseconds() - start) / 1000;
  agent.destroy();
  const { firstDelta, delay, whole } = times;
  return {
    ...{ ...total, seconds },
    firstDelta: toPercentiles(firstDelta),
    delay: toPercentiles(delay),
    whole: toPercentiles(whole),
  };
}

/** The times of one answer, in `monotonicMilliseconds`. */
interface Answer {
  readonly frames: number;
  readonly bytes: number;
  readonly firstDelta: number;
  /** Delay of each delta, ms. */
  readonly delays: readonly number[];
}

/** Reads a stream to its end. Reads only the stamps of deltas, because the generator must be faster than the servers. */
function readStamped(answer: IncomingMessage, deltas: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const delays: number[] = [];
    let frames = 0;
    let bytes = 0;
    let firstDelta = NaN;
    let rest = '';
    let last = '';
    answer.setEncoding('latin1');
    answer.on('data', (chunk: string) => {
      const now = monotonicMilliseconds();
      bytes += chunk.length;
      const text = rest + chunk;
      let from = 0;
      for (let end = text.indexOf(FRAME_END); end !== -1; end = text.indexOf(FRAME_END, from)) {
        frames += 1;
        // The closing events repeat the whole text.
        const mark = delays.length < deltas ? text.indexOf(STAMP_MARK, from) : -1;
        if (mark !== -1 && mark < end) {
          if (delays.length === 0) firstDelta = now;
          delays.push(now - readStamp(text, mark, text.indexOf('"', mark)));
        }
        from = end + FRAME_END.length;
        last = text;
      }
      rest = text.slice(from);
    });
    answer.once('error', reject);
    answer.once('end', () => {
      const status = answer.statusCode ?? 0;
      const isWhole = status === 200 && delays.length === deltas && rest === '' && last.endsWith(DONE);
      if (isWhole) resolve({ frames, bytes, firstDelta, delays });
      else reject(new Error(`status ${status}, ${delays.length} deltas, the answer ended with: ${last}${rest}`));
    });
  });
}
