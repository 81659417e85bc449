import { once } from 'node:events';
import { Agent, type IncomingMessage, request as openRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

import { Pool } from 'undici';

import { monotonicMilliseconds, readStamp, SEARCH, STAMP_MARK } from '../traffic.ts';

/** Turns, so many at once. */
export interface Job {
  readonly url: string;
  /** JSON. */
  readonly body: string;
  readonly concurrency: number;
  readonly turns: number;
}

/** What every job has measured. */
export interface Outcome {
  readonly turns: number;
  /** Of bodies or messages. */
  readonly bytes: number;
  /** Of streams, without `[DONE]`. */
  readonly events: number;
  /** From the first request to the end of the last answer. */
  readonly seconds: number;
}

/** Posts JSON, or sends GET without a body; resolves once the headers of the answer have arrived. */
export function send(url: string, body: string | undefined, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body ?? '') };
    const options = body === undefined ? { agent } : { agent, method: 'POST', headers };
    // A refused request may be answered before it was sent: later errors change nothing.
    openRequest(url, options, resolve).on('error', reject).end(body);
  });
}

/**
 * Makes turns with as many at once, and adds up what each counts. Their start can be spread evenly over a time, ms: turns that begin
 * within it are made beside those that are asked for, and are not measured.
 */
async function repeat(
  { concurrency, turns, spreadMs = 0 }: Job & { readonly spreadMs?: number },
  makeTurn: (agent: Agent, isMeasured: boolean) => Promise<{ readonly bytes: number; readonly events?: number }>,
): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const total = { turns: 0, bytes: 0, events: 0 };
  let left = turns;
  const start = performance.now();
  const goOn = async (_: unknown, index: number): Promise<void> => {
    if (index > 0 && spreadMs > 0) await setTimeout((spreadMs * index) / concurrency);
    while (left > 0) {
      const isMeasured = performance.now() - start >= spreadMs;
      if (isMeasured) left -= 1;
      const { bytes, events = 0 } = await makeTurn(agent, isMeasured);
      total.turns += 1;
      total.bytes += bytes;
      total.events += events;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, goOn));
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  return { ...total, seconds };
}

/** The median and the 99th percentile, ms. */
interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** Concurrent streams. */
export interface StreamJob extends Job {
  /** Deltas with stamps in each answer. */
  readonly stamps?: number;
  /** Time over which the start of streams is spread evenly, ms. */
  readonly spreadMs?: number;
}

/** Times of streams. */
export interface StreamOutcome extends Outcome {
  /** From the request to the first bytes of its answer. */
  readonly firstEvent: Percentiles;
  /** From the request to its first delta with a stamp. */
  readonly firstDelta: Percentiles;
  /** From writing a delta at the upstream to receiving it. */
  readonly delay: Percentiles;
}

/** Reads streams. Rejects if an answer is incomplete. */
export async function runStreams(job: StreamJob): Promise<StreamOutcome> {
  const { url, body, stamps = 0 } = job;
  const times: Record<'firstEvent' | 'firstDelta' | 'delay', number[]> = { firstEvent: [], firstDelta: [], delay: [] };
  const outcome = await repeat(job, async (agent, isMeasured) => {
    const sent = monotonicMilliseconds();
    const answer = await readStream(await send(url, body, agent), stamps);
    if (isMeasured) {
      times.firstEvent.push(answer.firstEvent - sent);
      times.firstDelta.push(answer.firstDelta - sent);
      times.delay.push(...answer.delays);
    }
    return answer;
  });
  const [firstEvent, firstDelta, delay] = [times.firstEvent, times.firstDelta, times.delay].map(toPercentiles);
  return { ...outcome, firstEvent, firstDelta, delay } as StreamOutcome;
}

function toPercentiles(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

const FRAME_END = '\n\n';
/** How streams end: of OpenAI, and of Anthropic. */
const ENDS = ['data: [DONE]\n\n', 'data: {"type":"message_stop"}\n\n'];

/** Reads a stream to its end, without parsing more than stamps, because the generator must be faster than the servers. */
async function readStream(answer: IncomingMessage, stamps: number) {
  const read = { events: -1, bytes: 0, firstEvent: NaN, firstDelta: NaN, delays: [] as number[] };
  let rest = '';
  let last = '';
  answer.setEncoding('latin1').on('data', (chunk: string) => {
    const now = monotonicMilliseconds();
    if (read.bytes === 0) read.firstEvent = now;
    read.bytes += chunk.length;
    const all = rest + chunk;
    let from = 0;
    for (let end = all.indexOf(FRAME_END); end !== -1; end = all.indexOf(FRAME_END, from)) {
      read.events += 1;
      // The closing events repeat the whole text.
      const mark = read.delays.length < stamps ? all.indexOf(STAMP_MARK, from) : -1;
      if (mark !== -1 && mark < end) {
        if (read.delays.length === 0) read.firstDelta = now;
        read.delays.push(now - readStamp(all, mark, all.indexOf('"', mark)));
      }
      from = end + FRAME_END.length;
      last = all;
    }
    rest = all.slice(from);
  });
  await once(answer, 'end');
  const isWhole = answer.statusCode === 200 && read.delays.length === stamps && rest === '';
  if (isWhole && ENDS.some((end) => last.endsWith(end))) return read;
  throw new Error(`status ${answer.statusCode}, ${read.delays.length} deltas, the answer ended with: ${last}${rest}`);
}

/** How often a response is read that has not ended, ms. */
const POLL_MS = 2;

/** The responses that are waited for: more than run at once, so that all before them have ended. Others cost no polls. */
const LAST = 64;

/** Creates background turns, and waits until the last ones have completed. Rejects if one was refused or has failed. */
export async function drain(job: Job): Promise<Outcome> {
  const start = performance.now();
  const ids: string[] = [];
  const outcome = await repeat(job, async (agent) => {
    const answer = await text(await send(job.url, job.body, agent));
    const id = /"id":"(resp_[^"]+)"/.exec(answer)?.[1];
    if (id === undefined) throw new Error(`the answer was: ${answer}`);
    ids.push(id);
    return { bytes: answer.length };
  });
  const agent = new Agent({ keepAlive: true });
  for (const id of ids.slice(-LAST)) await whenCompleted(`${job.url}/${id}`, agent);
  agent.destroy();
  return { ...outcome, seconds: (performance.now() - start) / 1000 };
}

async function whenCompleted(url: string, agent: Agent): Promise<void> {
  for (;;) {
    const { status } = JSON.parse(await text(await send(url, undefined, agent))) as { readonly status: string };
    if (status === 'completed') return;
    if (status !== 'queued' && status !== 'in_progress') throw new Error(`${url} has ended as ${status}`);
    await setTimeout(POLL_MS);
  }
}

/** How answers begin, in the dialects of all doors. */
const ANSWER_START = /^\{"id":"(?:resp_|chatcmpl-|msg_)/;

/** Sends requests that are not streamed. Rejects if an answer is not complete. */
export async function runJson(job: Job): Promise<Outcome> {
  const { origin, pathname } = new URL(job.url);
  const pool = new Pool(origin, { connections: job.concurrency, pipelining: 1 });
  const outcome = await repeat(job, () => post(pool, pathname, job.body));
  await pool.destroy();
  return outcome;
}

/** Uses `dispatch`, because the generator must be faster than the servers. */
function post(pool: Pool, path: string, body: string): Promise<{ readonly bytes: number }> {
  return new Promise((resolve, reject) => {
    let status = 0;
    let answer = '';
    pool.dispatch(
      { path, method: 'POST', headers: ['content-type', 'application/json'], body },
      {
        // Without it, undici assumes the handler interface of earlier versions.
        onRequestStart: () => undefined,
        onResponseStart: (_controller, statusCode) => (status = statusCode),
        onResponseData: (_controller, chunk) => (answer += chunk.toString('latin1')),
        onResponseEnd() {
          const isWhole = status === 200 && ANSWER_START.test(answer) && answer.endsWith('}');
          if (isWhole) resolve({ bytes: answer.length });
          else reject(new Error(`status ${status}, the answer was: ${answer}`));
        },
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

/** The members of a response that are read. */
interface ToolsResponse {
  readonly id: string;
  readonly output?: readonly { readonly type: string; readonly call_id?: string }[];
}

/**
 * Makes turns that are not streamed, and answers the calls of functions with a second request. A turn counts once. Resolves with the last
 * response too. Rejects unless each turn has items of the `expected` types, those of both responses where the client answers a call.
 */
export async function runTools(
  job: Job & { readonly expected: readonly string[] },
): Promise<Outcome & { readonly responseId: string }> {
  const request = JSON.parse(job.body) as object;
  let responseId = '';
  const outcome = await repeat(job, async (agent) => {
    const ask = async (body: string): Promise<ToolsResponse> =>
      JSON.parse(await text(await send(job.url, body, agent))) as ToolsResponse;
    const { id, output = [] } = await ask(job.body);
    const call = output.find(({ type }) => type === 'function_call');
    const input = [{ type: 'function_call_output', call_id: call?.call_id, output: SEARCH.output }];
    const rest = call && (await ask(JSON.stringify({ ...request, previous_response_id: id, input })));
    const types = [...output, ...(rest?.output ?? [])].map(({ type }) => type);
    if (types.join() !== job.expected.join()) throw new Error(`a turn had the items ${types.join()}`);
    responseId = id;
    return { bytes: 0 };
  });
  return { ...outcome, responseId };
}
