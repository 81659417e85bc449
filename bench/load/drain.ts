import { setTimeout } from 'node:timers/promises';

import type { DrainJob } from './background-jobs.ts';
import type { Outcome } from './job.ts';
import { runJson } from './json.ts';

/** How often the lists are read, ms. */
const POLL_MS = 5;

const UNFINISHED = ['queued', 'in_progress'];

/** Creates background turns, and waits for the last one. */
export async function drain({ url, body, concurrency, requests }: DrainJob): Promise<Outcome> {
  const start = performance.now();
  const created = await runJson({ type: 'json', url, body, concurrency, requests });
  for (const status of UNFINISHED) while (await hasSome(`${url}?limit=1&status=${status}`)) await setTimeout(POLL_MS);
  return { ...created, seconds: (performance.now() - start) / 1000 };
}

async function hasSome(url: string): Promise<boolean> {
  const answer = await fetch(url);
  const { data } = (await answer.json()) as { readonly data: readonly unknown[] };
  return data.length > 0;
}
