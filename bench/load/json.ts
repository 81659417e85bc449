import { Pool } from 'undici';

import type { JsonJob, Outcome } from './job.ts';

const START = '{"id":"resp_';

/** Sends requests side by side until all are answered. Rejects when an answer is anything but a whole Response. */
export async function runJson({ url, body, concurrency, requests }: JsonJob): Promise<Outcome> {
  const { origin, pathname } = new URL(url);
  // Cheaper than Node's own client: the generator must be faster than the servers.
  const pool = new Pool(origin, { connections: concurrency, pipelining: 1 });
  const headers = { 'content-type': 'application/json' };
  let left = requests;
  let bytes = 0;
  const start = performance.now();
  const ask = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const answer = await pool.request({ path: pathname, method: 'POST', headers, body });
      const text = await answer.body.text();
      bytes += text.length;
      const isWhole = answer.statusCode === 200 && text.startsWith(START) && text.endsWith('}');
      if (!isWhole) throw new Error(`status ${answer.statusCode}, the answer was: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, ask));
  const seconds = (performance.now() - start) / 1000;
  await pool.destroy();
  return { turns: requests, bytes, seconds };
}
