import { Pool } from 'undici';

import type { JsonJob, Outcome } from './job.ts';

const START = '{"id":"resp_';

/** Sends concurrent requests until all are answered. Rejects if an answer is not a complete Response. */
export async function runJson({ url, body, concurrency, requests }: JsonJob): Promise<Outcome> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: concurrency, pipelining: 1 });
  let left = requests;
  let bytes = 0;
  const start = performance.now();
  const ask = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const length = await post(pool, pathname, body);
      bytes += length;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, ask));
  const seconds = (performance.now() - start) / 1000;
  await pool.destroy();
  return { turns: requests, bytes, seconds };
}

/** Resolves with the length of the answer. Uses `dispatch`, because the generator must be faster than the servers. */
function post(pool: Pool, path: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let status = 0;
    let text = '';
    pool.dispatch(
      { path, method: 'POST', headers: ['content-type', 'application/json'], body },
      {
        // Without it, undici assumes the handler interface of earlier versions.
        onRequestStart: () => undefined,
        onResponseStart(_controller, statusCode) {
          status = statusCode;
        },
        onResponseData(_controller, chunk) {
          text += chunk.toString('latin1');
        },
        onResponseEnd() {
          const isWhole = status === 200 && text.startsWith(START) && text.endsWith('}');
          if (isWhole) resolve(text.length);
          else reject(new Error(`status ${status}, the answer was: ${text}`));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}
