import { Agent, type IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';

import { monotonicMilliseconds, readStamp, STAMP_MARK } from '../stamp.ts';
import type { TimedJob, TimedOutcome } from './job.ts';
import { toPercentiles } from './percentiles.ts';
import { post } from './post.ts';

const FRAME_END = '\n\n';
const DONE = `data: [DONE]${FRAME_END}`;

/** The times of one answer, in `monotonicMilliseconds`. */
interface Answer {
  readonly frames: number;
  readonly bytes: number;
  readonly firstDelta: number;
  /** Delay of each delta, ms. */
  readonly delays: readonly number[];
}

/** Runs streams and measures latencies. Rejects if an answer is incomplete, unless `mayBreak` is set. */
export async function runTimed(job: TimedJob): Promise<TimedOutcome> {
  const { streams, spreadMs, turns } = job;
  const agent = new Agent({ keepAlive: true, maxSockets: streams });
  const total = { turns: 0, frames: 0, bytes: 0, broken: 0 };
  const firstDeltas: number[] = [];
  const delays: number[] = [];
  const addedGaps: number[] = [];
  const wholes: number[] = [];
  let left = turns;
  const start = monotonicMilliseconds();
  const stream = async (_: unknown, index: number): Promise<void> => {
    if (index > 0 && spreadMs > 0) await setTimeout((spreadMs * index) / streams);
    while (left > 0) {
      const sent = monotonicMilliseconds();
      const isMeasured = sent - start >= spreadMs;
      if (isMeasured) left -= 1;
      const answer = await ask(job, agent);
      if (answer === undefined) {
        total.broken += 1;
        return;
      }
      total.turns += 1;
      total.frames += answer.frames;
      total.bytes += answer.bytes;
      if (!isMeasured) continue;
      firstDeltas.push(answer.firstDelta - sent);
      delays.push(...answer.delays);
      addedGaps.push(...answer.delays.slice(1).map((delay, before) => delay - (answer.delays[before] ?? NaN)));
      wholes.push(monotonicMilliseconds() - sent);
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
  const seconds = (monotonicMilliseconds() - start) / 1000;
  agent.destroy();
  return {
    ...total,
    seconds,
    firstDelta: toPercentiles(firstDeltas),
    delay: toPercentiles(delays),
    addedGap: toPercentiles(addedGaps),
    whole: toPercentiles(wholes),
  };
}

/** Returns nothing for an incomplete answer, if those are allowed. */
async function ask({ url, body, deltas, mayBreak = false }: TimedJob, agent: Agent): Promise<Answer | undefined> {
  try {
    return await readStamped(await post(url, body, agent), deltas);
  } catch (error) {
    if (mayBreak) return undefined;
    throw error;
  }
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
      const isWhole = answer.statusCode === 200 && delays.length === deltas && rest === '' && last.endsWith(DONE);
      if (isWhole) resolve({ frames, bytes, firstDelta, delays });
      else
        reject(
          new Error(`status ${answer.statusCode ?? 0}, ${delays.length} deltas, the answer ended with: ${last}${rest}`),
        );
    });
  });
}
