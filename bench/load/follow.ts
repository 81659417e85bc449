import { once } from 'node:events';
import { Agent } from 'node:http';

import type { FollowJob, FollowOutcome } from './background-jobs.ts';
import { get, post } from './post.ts';
import { readStream } from './sse.ts';

const ID = /"id":"(resp_[^"]+)"/;

/** Creates a background stream, and follows it until its end. Rejects unless every reader gets all of it. */
export async function follow({ url, body, readers }: FollowJob): Promise<FollowOutcome> {
  const agent = new Agent();
  const start = performance.now();
  const answer = await post(url, body, agent);
  const begun = once(answer, 'data') as Promise<readonly unknown[]>;
  const creator = readStream(answer);
  const [first] = await begun;
  const responseId = ID.exec(String(first))?.[1] ?? '';
  const join = async (): ReturnType<typeof readStream> =>
    readStream(await get(`${url}/${responseId}?stream=true&include_obfuscation=false`, agent));
  const others = Array.from({ length: readers - 1 }, join);
  const read = await Promise.all([creator, ...others]);
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  const frames = read[0].frames;
  if (read.some((one) => one.frames !== frames)) throw new Error(`readers of ${responseId} got different events`);
  const bytes = read.reduce((sum, one) => sum + one.bytes, 0);
  return { responseId, turns: readers, events: readers * (frames - 1), bytes, seconds };
}
