import { Agent, type IncomingMessage, request as openRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

import { Pool } from 'undici';

/** What every job has measured. */
export interface Outcome {
  /** Answers. */
  readonly turns: number;
  /** Of bodies or messages. */
  readonly bytes: number;
  /** From the first request to the end of the last answer. */
  readonly seconds: number;
}

/** The outcome of streams. */
export interface StreamedOutcome extends Outcome {
  /** Without `[DONE]`. */
  readonly events: number;
}

/** The median and the 99th percentile. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** Percentiles of a non-empty list. */
export function toPercentiles(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Posts JSON, or sends GET without a body; resolves once the headers of the answer have arrived. */
export function send(url: string, body: string | undefined, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body ?? '') };
    const options = body === undefined ? { agent } : { agent, method: 'POST', headers };
    openRequest(url, options, resolve).once('error', reject).end(body);
  });
}

/** Concurrent streams, each of which makes turns in sequence. Without a body, requests are GET. */
interface SseJob {
  readonly url: string;
  readonly body?: string;
  readonly streams: number;
  readonly turnsPerStream: number;
}

/** Runs streams until each has made its turns. Measures the time to their first events too, ms. Rejects if an answer is incomplete. */
export async function runSse(job: SseJob): Promise<StreamedOutcome & { readonly firstEvent: Percentiles }> {
  const { url, body, streams, turnsPerStream } = job;
  const agent = new Agent({ keepAlive: true, maxSockets: streams });
  const total = { turns: 0, events: 0, bytes: 0 };
  const firsts: number[] = [];
  const start = performance.now();
  const stream = async (): Promise<void> => {
    for (let turn = 0; turn < turnsPerStream; turn++) {
      const sent = performance.now();
      const answer = await send(url, body, agent);
      const { events, bytes } = await readStream(answer, () => firsts.push(performance.now() - sent));
      total.turns += 1;
      total.events += events;
      total.bytes += bytes;
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  return { ...total, seconds, firstEvent: toPercentiles(firsts) };
}

const NEWLINE = 10;
const FRAME_END = Buffer.from('\n\n');
/** How streams end: of OpenAI, and of Anthropic. */
const ENDS = ['data: [DONE]\n\n', 'data: {"type":"message_stop"}\n\n'].map((end) => Buffer.from(end));

/** Reads a stream to its end. Counts frames without parsing, because the generator must be faster than the servers. */
function readStream(
  answer: IncomingMessage,
  onFirst: (chunk: Buffer) => void = () => undefined,
): Promise<{ readonly events: number; readonly bytes: number }> {
  return new Promise((resolve, reject) => {
    let frames = 0;
    let bytes = 0;
    let last: Buffer = Buffer.alloc(0);
    answer.once('data', onFirst);
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      // The end of a frame may span two chunks.
      if (chunk[0] === NEWLINE && last.at(-1) === NEWLINE) frames++;
      for (let at = chunk.indexOf(FRAME_END); at !== -1; at = chunk.indexOf(FRAME_END, at + 2)) frames++;
      last = chunk;
    });
    answer.once('error', reject);
    answer.once('end', () => {
      const isWhole = answer.statusCode === 200 && ENDS.some((end) => last.subarray(-end.length).equals(end));
      if (isWhole) resolve({ events: frames - 1, bytes });
      else reject(new Error(`status ${answer.statusCode ?? 0}, the answer ended with: ${last.toString()}`));
    });
  });
}

const ID = /"id":"(resp_[^"]+)"/;

/** A background stream, followed by its creator and by others until its end. */
interface FollowJob {
  readonly url: string;
  readonly body: string;
  /** The creator included. */
  readonly readers: number;
}

/** Creates the stream and follows it. Each reader counts as a turn. Rejects unless every reader gets all of it. */
export async function follow(job: FollowJob): Promise<StreamedOutcome & { readonly responseId: string }> {
  const { url, body, readers } = job;
  const agent = new Agent();
  const start = performance.now();
  const { promise: first, resolve } = Promise.withResolvers<Buffer>();
  const creator = readStream(await send(url, body, agent), resolve);
  const responseId = ID.exec(String(await first))?.[1] ?? '';
  const join = async (): ReturnType<typeof readStream> =>
    readStream(await send(`${url}/${responseId}?stream=true&include_obfuscation=false`, undefined, agent));
  const read = await Promise.all([creator, ...Array.from({ length: readers - 1 }, join)]);
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  const { events } = read[0];
  if (read.some((one) => one.events !== events)) throw new Error(`readers of ${responseId} got different events`);
  const bytes = read.reduce((sum, one) => sum + one.bytes, 0);
  return { responseId, turns: readers, events: readers * events, bytes, seconds };
}

/** Requests that are not streamed. */
interface JsonJob {
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  /** Concurrent requests. */
  readonly concurrency: number;
  readonly requests: number;
}

/** How often a response is read that has not ended, ms. */
const POLL_MS = 2;

/** The responses that are waited for: more than run at once, so that all before them have ended. Others cost no polls. */
const LAST = 64;

/** Creates background turns, and waits until the last ones have completed. Rejects if one was refused or has failed. */
export async function drain({ url, body, concurrency, requests }: JsonJob): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const ids: string[] = [];
  let bytes = 0;
  const start = performance.now();
  await repeat(requests, concurrency, async () => {
    const answer = await text(await send(url, body, agent));
    const id = ID.exec(answer)?.[1];
    if (id === undefined) throw new Error(`the answer was: ${answer}`);
    ids.push(id);
    bytes += answer.length;
  });
  for (const id of ids.slice(-LAST)) await whenCompleted(`${url}/${id}`, agent);
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  return { turns: requests, bytes, seconds };
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

/** Sends requests until all are answered. Rejects if an answer is not complete. */
export async function runJson({ url, body, concurrency, requests }: JsonJob): Promise<Outcome> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: concurrency, pipelining: 1 });
  let bytes = 0;
  const start = performance.now();
  await repeat(requests, concurrency, async () => {
    const length = await post(pool, pathname, body);
    bytes += length;
  });
  const seconds = (performance.now() - start) / 1000;
  await pool.destroy();
  return { turns: requests, bytes, seconds };
}

async function repeat(times: number, concurrency: number, run: () => Promise<void>): Promise<void> {
  let left = times;
  const goOn = async (): Promise<void> => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: concurrency }, goOn));
}

/** Resolves with the length of the answer. Uses `dispatch`, because the generator must be faster than the servers. */
function post(pool: Pool, path: string, body: string): Promise<number> {
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
          if (isWhole) resolve(answer.length);
          else reject(new Error(`status ${status}, the answer was: ${answer}`));
        },
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}
