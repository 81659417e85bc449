import { Agent, type IncomingMessage } from 'node:http';

import type { FirstEventsJob, FirstEventsOutcome } from './background-jobs.ts';
import { toPercentiles } from './percentiles.ts';
import { post } from './post.ts';

const CREATED = 'event: response.created\n';
const IN_PROGRESS = 'event: response.in_progress\n';

/** Makes streams one after the other. Rejects if an answer lacks one of the events. */
export async function timeFirstEvents({ url, body, requests }: FirstEventsJob): Promise<FirstEventsOutcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const created: number[] = [];
  const inProgress: number[] = [];
  for (let request = 0; request < requests; request++) {
    const sent = performance.now();
    const times = await readTimes(await post(url, body, agent));
    created.push(times.created - sent);
    inProgress.push(times.inProgress - sent);
  }
  agent.destroy();
  return { created: toPercentiles(created), inProgress: toPercentiles(inProgress) };
}

function readTimes(answer: IncomingMessage): Promise<{ readonly created: number; readonly inProgress: number }> {
  return new Promise((resolve, reject) => {
    let text = '';
    let created = NaN;
    let inProgress = NaN;
    answer.setEncoding('latin1');
    answer.on('data', (chunk: string) => {
      text += chunk;
      if (Number.isNaN(created) && text.includes(CREATED)) created = performance.now();
      if (Number.isNaN(inProgress) && text.includes(IN_PROGRESS)) inProgress = performance.now();
    });
    answer.once('error', reject);
    answer.once('end', () => {
      if (!Number.isNaN(created + inProgress)) resolve({ created, inProgress });
      else reject(new Error(`status ${answer.statusCode ?? 0}, the answer was: ${text}`));
    });
  });
}
