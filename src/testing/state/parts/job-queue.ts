import assert from 'node:assert/strict';
import { Logger } from '@nestjs/common';

import type { NewJob, QueueName } from '../../../state/index.js';
import { requireAlike, requireEntry, requireMatch } from '../assertions.js';
import { aborted, Deliveries, OPTIONS } from '../deliveries.js';
import { part } from '../part.js';
import type { TestedState } from '../tested-state.js';

const job = (data: unknown, queue: QueueName = 'turns'): NewJob => ({ queue, data: { data } });

/** Jobs are delivered at least once, in order, to one process at a time. */
export const JOB_QUEUE = part('jobs', 'the job queue', ({ open, it, beforeEach, afterEach }) => {
  let opened: TestedState;
  let workers: Deliveries[];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    opened = await open();
    workers = [];
  });
  afterEach(async () => {
    for (const worker of workers) await worker.stop();
    await opened.close();
  });

  const work = async (options?: Partial<typeof OPTIONS>, queue?: QueueName): Promise<Deliveries> => {
    const worker = await Deliveries.of(opened.backend.jobs, options, queue);
    workers.push(worker);
    return worker;
  };

  it('the job queue delivers a job once it is enqueued', async () => {
    const worker = await work();
    await opened.enqueue(job('a'));
    requireMatch(await worker.at(0), { data: { data: 'a' }, attempt: 1, signal: { aborted: false } });
  });

  it('the job queue delivers what was enqueued before', async () => {
    await opened.enqueue(job('a'));
    const worker = await work();
    requireMatch(await worker.at(0), { data: { data: 'a' } });
  });

  for (const text of ['\0', '\ud800', '\udc00\ud800', '\\u0000', '"', '😀', '']) {
    it(`the job queue keeps the data ${JSON.stringify(text)}`, async () => {
      const worker = await work();
      await opened.enqueue(job(text));
      requireAlike((await worker.at(0)).data, { data: text });
    });
  }

  it('the job queue delivers jobs one at a time, oldest first', async () => {
    for (let index = 0; index < 5; index += 1) await opened.enqueue(job(index));
    const worker = await work({ concurrency: 1 });
    for (let index = 0; index < 5; index += 1) {
      const delivery = await worker.at(index);
      assert.equal(worker.all.length, index + 1);
      requireAlike(delivery.data, { data: index });
      delivery.done();
    }
  });

  it('the job queue delivers as many at once as it may', async () => {
    const worker = await work({ concurrency: 3 });
    await opened.enqueue(...[0, 1, 2, 3, 4].map((index) => job(index)));
    (await worker.at(2)).done();
    await worker.at(3);
    assert.equal(worker.all.length, 4);
  });

  it('the job queue delivers a burst, each job once, never more than it may', async () => {
    let running = 0;
    let most = 0;
    const seen: unknown[] = [];
    const all = Promise.withResolvers<undefined>();
    const worker = await opened.backend.jobs.work('turns', OPTIONS, async ({ data }) => {
      running += 1;
      most = Math.max(most, running);
      seen.push((data as { readonly data: unknown }).data);
      await Promise.resolve();
      running -= 1;
      if (seen.length === 300) all.resolve(undefined);
    });
    const numbers = Array.from({ length: 300 }, (_, index) => index);
    await Promise.all(numbers.map((number) => opened.enqueue(job(number))));
    await all.promise;
    await worker.stop();
    requireAlike(new Set(seen), new Set(numbers));
    assert.equal(seen.length, 300);
    assert.ok(most <= OPTIONS.concurrency);
  });

  it('the job queue leaves jobs to others where it may run none', async () => {
    const idle = await work({ concurrency: 0 });
    await opened.enqueue(job('a'));
    const worker = await work();
    await worker.at(0);
    requireAlike(idle.all, []);
  });

  it('the job queue keeps queues apart', async () => {
    const turns = await work();
    const webhooks = await work({}, 'webhooks');
    await opened.enqueue(job('a', 'webhooks'), job('b'), job('c', 'webhooks'));
    await webhooks.at(1);
    await turns.at(0);
    requireAlike(turns.data, [{ data: 'b' }]);
    for (const data of ['a', 'c']) requireEntry(webhooks.data, { data });
  });

  it('the job queue delivers a failed job again after a pause, before younger ones', async () => {
    const worker = await work({ concurrency: 1 });
    await opened.enqueue(job('a'));
    await opened.enqueue(job('b'));
    await opened.enqueue(job('c'));
    (await worker.at(0)).fail();
    await worker.at(1);
    await opened.untilHeld(1);
    await opened.ageJobs(1);
    (await worker.at(1)).done();
    requireMatch(await worker.at(2), { data: { data: 'a' }, attempt: 2 });
  });

  it('the job queue makes longer pauses if it may', async () => {
    const worker = await work({ retryDelaySeconds: 10, longestRetryDelaySeconds: 40 });
    await opened.enqueue(job('failing'));
    for (const [retry, tooShort] of [9, 19, 39].entries()) {
      const index = 2 * retry;
      (await worker.at(index)).fail();
      await opened.untilHeld(0);
      await opened.ageJobs(tooShort);
      await opened.enqueue(job(retry));
      const younger = await worker.at(index + 1);
      requireAlike(younger.data, { data: retry });
      younger.done();
      await opened.untilHeld(0);
      await opened.ageJobs(40 - tooShort);
      requireMatch(await worker.at(index + 2), { data: { data: 'failing' }, attempt: retry + 2 });
    }
  });

  it('the job queue drops a job after its last attempt', async () => {
    const worker = await work({ maxAttempts: 2 });
    await opened.enqueue(job('failing'));
    (await worker.at(0)).fail();
    await opened.untilHeld(0);
    await opened.ageJobs(1);
    (await worker.at(1)).fail();
    await opened.untilHeld(0);
    await opened.ageJobs(1000);
    await opened.enqueue(job('next'));
    requireAlike((await worker.at(2)).data, { data: 'next' });
  });

  for (const end of ['done', 'fail'] as const) {
    it(`the job queue takes a job away that runs too long: what it comes to counts not (${end})`, async () => {
      const worker = await work();
      await opened.enqueue(job('slow'));
      const first = await worker.at(0);
      await opened.ageJobs(OPTIONS.maxRunSeconds + 1);
      await aborted(first.signal);
      await opened.ageJobs(1);
      const second = await worker.at(1);
      requireMatch(second, { data: { data: 'slow' }, attempt: 2, signal: { aborted: false } });
      first[end]();
      await opened.untilHeld(1);
      second.fail();
      await opened.untilHeld(0);
      await opened.ageJobs(1);
      requireMatch(await worker.at(2), { data: { data: 'slow' }, attempt: 3 });
      assert.equal(worker.all.length, 3);
    });
  }

  it('the job queue takes no more jobs when it pauses, and leaves them to others', async () => {
    const pausing = await work({ concurrency: 1 });
    await opened.enqueue(job('a'), job('b'));
    const running = await pausing.at(0);
    pausing.worker.pause();
    running.done();
    const other = await work();
    await other.at(0);
    for (const data of ['a', 'b']) requireEntry([...pausing.data, ...other.data], { data });
    assert.equal(pausing.all.length, 1);
  });

  it('the job queue stops when its handlers have ended', async () => {
    const worker = await work();
    await opened.enqueue(job('a'));
    const running = await worker.at(0);
    let isStopped = false;
    const stopped = worker.worker.stop().then(() => (isStopped = true));
    await new Promise(setImmediate);
    assert.equal(isStopped, false);
    running.done();
    await stopped;
  });
});
