import { Agent } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

import type { DrainJob } from './background-jobs.ts';
import type { Outcome } from './job.ts';
import { get, post } from './post.ts';

/** How often a response is read that has not ended, ms. */
const POLL_MS = 2;

/** The responses that are waited for: more than run at once, so that all before them have ended. Others cost no polls. */
const LAST = 64;

const ID = /"id":"(resp_[^"]+)"/;

/** Creates background turns, and waits for the last ones. Rejects if one was refused or has not completed. */
export async function drain({ url, body, concurrency, requests }: DrainJob): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const ids: string[] = [];
  let left = requests;
  let bytes = 0;
  const start = performance.now();
  const create = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const answer = await text(await post(url, body, agent));
      const id = ID.exec(answer)?.[1];
      if (id === undefined) throw new Error(`the answer was: ${answer}`);
      ids.push(id);
      bytes += answer.length;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, create));
  for (const id of ids.slice(-LAST)) await whenCompleted(`${url}/${id}`, agent);
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  return { turns: requests, bytes, seconds };
}

async function whenCompleted(url: string, agent: Agent): Promise<void> {
  for (;;) {
    const { status } = JSON.parse(await text(await get(url, agent))) as { readonly status: string };
    if (status === 'completed') return;
    if (status !== 'queued' && status !== 'in_progress') throw new Error(`${url} has ended as ${status}`);
    await setTimeout(POLL_MS);
  }
}
