import { Agent, type IncomingMessage } from 'node:http';

import type { SseJob, StreamedOutcome } from './job.ts';
import { get, post } from './post.ts';

const NEWLINE = 10;
const FRAME_END = Buffer.from('\n\n');
const DONE = Buffer.from('data: [DONE]\n\n');

/** Runs concurrent streams until each has made its turns. Rejects if an answer is incomplete. */
export async function runSse({ url, body, streams, turnsPerStream }: SseJob): Promise<StreamedOutcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: streams });
  const total = { turns: 0, events: 0, bytes: 0 };
  const start = performance.now();
  const stream = async (): Promise<void> => {
    for (let turn = 0; turn < turnsPerStream; turn++) {
      const { frames, bytes } = await readStream(await (body === undefined ? get(url, agent) : post(url, body, agent)));
      total.turns += 1;
      total.events += frames - 1;
      total.bytes += bytes;
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  return { ...total, seconds };
}

/** Reads a stream to its end. Counts frames without parsing, because the generator must be faster than the servers. */
export function readStream(answer: IncomingMessage): Promise<{ readonly frames: number; readonly bytes: number }> {
  return new Promise((resolve, reject) => {
    let frames = 0;
    let bytes = 0;
    let last: Buffer = Buffer.alloc(0);
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      // The end of a frame may span two chunks.
      if (chunk[0] === NEWLINE && last.at(-1) === NEWLINE) frames++;
      for (let at = chunk.indexOf(FRAME_END); at !== -1; at = chunk.indexOf(FRAME_END, at + 2)) frames++;
      last = chunk;
    });
    answer.once('error', reject);
    answer.once('end', () => {
      const isWhole = answer.statusCode === 200 && last.subarray(-DONE.length).equals(DONE);
      if (isWhole) resolve({ frames, bytes });
      else reject(new Error(`status ${answer.statusCode ?? 0}, the answer ended with: ${last.toString()}`));
    });
  });
}
