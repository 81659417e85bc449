/** Parses and validates requests with many items, as the service does, in a separate process. */
import { checkRequest } from './built.ts';
import type { ValidationJob, ValidationOutcome } from './job.ts';
import { makeRequest } from './make-request.ts';

/** Input items of the request. */
const ITEMS = 500;

/** Requests in memory at once. Each validation uses a new one, as in production. */
const BATCH = 20;

const text = makeRequest(ITEMS);

function run({ step, requests }: ValidationJob): ValidationOutcome {
  let cpuMicroseconds = 0;
  for (let left = requests; left > 0; left -= BATCH) {
    const batch = Math.min(left, BATCH);
    if (step === 'parse') cpuMicroseconds += measure(() => parse(batch));
    else cpuMicroseconds += measureCheck(parse(batch));
  }
  return { type: 'validation', cpuMicroseconds };
}

function measureCheck(bodies: readonly unknown[]): number {
  return measure(() => {
    for (const body of bodies) checkRequest(body);
  });
}

function parse(requests: number): readonly unknown[] {
  return Array.from({ length: requests }, () => JSON.parse(text) as unknown);
}

function measure(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

process.on('message', (message: ValidationJob | { readonly type: 'usage' }) => {
  if (message.type === 'validation') process.send?.(run(message));
});
process.send?.({ type: 'ready' });
