import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import OpenAI from 'openai';

import { asTenant, Clock, Environment, JobQueue, type NewJob, StateBackend } from '../../src/index.js';
import { Webhooks } from '../../src/operations/webhooks/index.js';
import { freePort } from '../support/ports.js';
import { ServiceLog } from '../support/service-log.js';
import { until } from '../support/held-bodies.js';
import { type Service, startService } from '../support/service.js';
import { WatchedClock } from '../support/clocks.js';
import { TestJobQueue } from './test-job-queue.js';
import { type ReceivedWebhook, type WebhookAnswer, WebhookReceiver } from '../support/webhooks/webhook-receiver.js';

const KEY = Buffer.from('only for the tests of this service').toString('base64');
const WEBHOOK_SECRET = `whsec_${KEY}`;
const TIMEOUT_MS = 4321;
const ACME = asTenant('acme');
const LAST_ATTEMPT = 3;

let receiver: WebhookReceiver;
let clock: WatchedClock;
let queue: TestJobQueue;
let log: ServiceLog;
let service: Service;

/** Starts a service whose time is now, and whose queue does as it is told. */
async function start(environment: object = {}): Promise<Service> {
  service = await startService({
    environment: {
      WEBHOOK_URL: receiver.url,
      WEBHOOK_SECRET,
      WEBHOOK_ALLOW_LOOPBACK: 'true',
      WEBHOOK_TIMEOUT_MS: TIMEOUT_MS,
      WEBHOOK_MAX_ATTEMPTS: LAST_ATTEMPT,
      ...environment,
    },
    overrides: [
      [Clock, clock],
      [JobQueue, queue],
    ],
  });
  log = ServiceLog.begin();
  return service;
}

beforeEach(async () => {
  receiver = await WebhookReceiver.open();
  clock = new WatchedClock(Date.now());
  queue = new TestJobQueue();
});

afterEach(async () => {
  clock.letGo();
  await service.close();
  await receiver[Symbol.asyncDispose]();
  Logger.overrideLogger(false);
});

/** The job that announces the end of a response. */
function announce(status: 'completed' | 'failed' | 'incomplete' | 'cancelled' = 'completed', id = 'resp_1'): NewJob {
  const [job, ...others] = service.app.get(Webhooks).announcing(ACME, { id, status });
  expect(others).toEqual([]);
  if (job === undefined) throw new Error('nothing is announced');
  return job;
}

/** What the SDK makes of a request, as a receiver uses it. */
function unwrap({ body, headers }: ReceivedWebhook, tolerance?: number): Promise<unknown> {
  const { webhooks } = new OpenAI({ apiKey: 'test' });
  return webhooks.unwrap(body, headers, WEBHOOK_SECRET, tolerance);
}

describe('a webhook', () => {
  it.each(['completed', 'failed', 'incomplete', 'cancelled'] as const)(
    'a webhook announces that a response is %s, and the official SDK accepts it',
    async (status) => {
      await start();
      await queue.deliver(announce(status), 1);
      const received = receiver.request(0);
      expect(receiver.received).toHaveLength(1);
      expect(received).toMatchObject({
        method: 'POST',
        path: '/hooks?token=token-of-the-url',
        headers: { 'content-type': 'application/json', 'user-agent': expect.stringMatching(/^antiphon\/\d/) },
      });
      expect(await unwrap(received)).toEqual({
        id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
        object: 'event',
        created_at: clock.nowInSeconds(),
        type: `response.${status}`,
        data: { id: 'resp_1' },
      });
      expect(received.headers['webhook-id']).toBe((JSON.parse(received.body) as { id: string }).id);
      expect(log.complaints).toEqual([]);
    },
  );

  it('a webhook is refused by the SDK when a byte of it was changed', async () => {
    await start();
    await queue.deliver(announce(), 1);
    const received = receiver.request(0);
    const forged = { ...received, body: received.body.replace('resp_1', 'resp_2') };
    await expect(unwrap(forged)).rejects.toThrow(OpenAI.InvalidWebhookSignatureError);
  });

  it('a webhook is the same event in each attempt, signed for its moment', async () => {
    await start();
    const job = announce();
    receiver.answers.push(500);
    await expect(queue.deliver(job, 1)).rejects.toThrow('HTTP 500');
    clock.advance(3_600_000);
    await queue.deliver(job, 2);
    const [first, second] = [receiver.request(0), receiver.request(1)];
    expect(second.body).toBe(first.body);
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
    expect(Number(second.headers['webhook-timestamp']) - Number(first.headers['webhook-timestamp'])).toBe(3600);
    await expect(unwrap(second, 4000)).resolves.toEqual(JSON.parse(second.body));
  });

  it('a webhook has an id of its own for each response', async () => {
    await start();
    for (const id of ['resp_1', 'resp_2']) await queue.deliver(announce('completed', id), 1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  });

  it('a webhook is not made without WEBHOOK_URL, and nobody waits for any', async () => {
    await start({ WEBHOOK_URL: '', WEBHOOK_SECRET: '' });
    expect(service.app.get(Webhooks).announcing(ACME, { id: 'resp_1', status: 'completed' })).toEqual([]);
    expect(queue.isWorked('webhooks')).toBe(false);
  });
});

/** Resolves when the sender has the head of the next answer. */
function headOfAnswer(): Promise<void> {
  const channel = 'undici:request:headers';
  return new Promise((resolve) => {
    const listener = (): void => {
      unsubscribe(channel, listener);
      resolve();
    };
    subscribe(channel, listener);
  });
}

describe('an answer to a webhook', () => {
  const redirect: WebhookAnswer = (response) =>
    void response.writeHead(307, { location: `${receiver.url}&again` }).end();
  const endless: WebhookAnswer = (response) => {
    const source = new Readable({ read: () => void source.push('x'.repeat(16 * 1024)) });
    pipeline(source, response, () => undefined);
  };
  const large: WebhookAnswer = (response) => void response.end('x'.repeat(1024 * 1024));

  it.each<readonly [string, WebhookAnswer]>([
    ['200', 200],
    ['202', 202],
    ['204', 204],
    ['200 with a long body', large],
    ['200 with a body without an end', endless],
  ])('a webhook is delivered with the answer %s', async (_name, answer) => {
    await start();
    receiver.answers.push(answer);
    await queue.deliver(announce(), 1);
    expect([receiver.received.length, log.complaints]).toEqual([1, []]);
  });

  it.each<readonly [string, WebhookAnswer, string]>([
    ['an error of the endpoint', 500, 'HTTP 500'],
    ['a refusal', 404, 'HTTP 404'],
    ['a request for patience', 429, 'HTTP 429'],
    ['a redirect, which is not followed', redirect, 'HTTP 307'],
    ['a broken connection', (response) => response.socket?.resetAndDestroy(), 'ECONNRESET'],
  ])('a bad answer to a webhook makes the queue deliver the job again: %s', async (_name, answer, reason) => {
    await start();
    receiver.answers.push(answer);
    const job = announce();
    await expect(queue.deliver(job, 1)).rejects.toThrow(reason);
    expect(receiver.received).toHaveLength(1);
    expect(log.complaints).toEqual([expect.stringContaining(`a webhook was not delivered and is sent again later: `)]);
    await expect(queue.deliver(job, 2)).resolves.toBeUndefined();
    expect(receiver.received).toHaveLength(2);
  });

  it.each<readonly [string, (response: ServerResponse) => void]>([
    ['that does not come', () => undefined],
    ['of which only the beginning comes', (response) => response.socket?.write('HTTP/1.1 20')],
  ])('%s within WEBHOOK_TIMEOUT_MS is a failure, and its connection is closed', async (_name, answer) => {
    await start();
    const closed = Promise.withResolvers<undefined>();
    receiver.answers.push((response) => {
      response.socket?.once('close', () => closed.resolve(undefined));
      answer(response);
    });
    const { next } = receiver;
    const delivered = queue.deliver(announce(), 1);
    await next;
    clock.advance(TIMEOUT_MS - 1);
    expect(clock.pending).toBeGreaterThan(0);
    clock.advance(1);
    await expect(delivered).rejects.toThrow(`no answer within ${TIMEOUT_MS} ms`);
    await closed.promise;
  });

  it('an answer to a webhook may take its time with the body: the status has decided', async () => {
    await start();
    receiver.answers.push((response) => void response.writeHead(200).write('more to come'));
    const head = headOfAnswer();
    const delivered = queue.deliver(announce(), 1);
    let isOver = false;
    void delivered.finally(() => (isOver = true));
    await head;
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    clock.advance(TIMEOUT_MS);
    await expect(delivered).resolves.toBeUndefined();
  });
});

describe('an endpoint that nobody answers for', () => {
  it('an endpoint that nobody answers for is a failure of the webhook', async () => {
    await start({ WEBHOOK_URL: `http://127.0.0.1:${await freePort()}/` });
    await expect(queue.deliver(announce(), 1)).rejects.toThrow('ECONNREFUSED');
  });
});

describe('the attempts to send a webhook', () => {
  it('the attempts to send a webhook end with a line in the log, which has no secrets', async () => {
    await start();
    const job = announce('failed');
    receiver.answers.push(...Array<number>(LAST_ATTEMPT).fill(503));
    for (let attempt = 1; attempt < LAST_ATTEMPT; attempt++) {
      await expect(queue.deliver(job, attempt)).rejects.toThrow('HTTP 503');
    }
    // The job is done, also for a queue that would go on.
    await queue.deliver(job, LAST_ATTEMPT);
    const last = `gave up response.failed of resp_1 tenant="acme": HTTP 503 (attempts: ${LAST_ATTEMPT})`;
    expect(log.complaints.filter((line) => line.includes('resp_1'))).toEqual([expect.stringContaining(last)]);
    for (const secret of [KEY, 'token-of-the-url']) expect(log.complaints.join()).not.toContain(secret);
  });

  it('the attempts to send a webhook end at once when the endpoint is gone (410)', async () => {
    await start();
    receiver.answers.push(410);
    await queue.deliver(announce(), 1);
    const line = expect.stringContaining('gave up response.completed of resp_1 tenant="acme": HTTP 410 (attempts: 1)');
    expect(log.complaints).toEqual([line]);
  });

  it('the attempts to send a webhook log an outage once a minute', async () => {
    await start({ WEBHOOK_MAX_ATTEMPTS: 9 });
    receiver.answers.push(...Array<number>(5).fill(500));
    for (let attempt = 1; attempt <= 5; attempt++) await expect(queue.deliver(announce(), attempt)).rejects.toThrow();
    expect(log.complaints).toHaveLength(1);
  });

  it('the attempts to send a webhook have the pauses of a day', async () => {
    await start({ WEBHOOK_MAX_ATTEMPTS: '' });
    const options = queue.optionsOf('webhooks');
    const { retryDelaySeconds, longestRetryDelaySeconds } = options;
    let seconds = 0;
    for (let pause = 0; pause < service.app.get(Environment).WEBHOOK_MAX_ATTEMPTS - 1; pause++) {
      seconds += Math.min(retryDelaySeconds * 2 ** pause, longestRetryDelaySeconds ?? Infinity);
    }
    expect(Math.round(seconds / 3600)).toBe(23);
    expect(options.maxRunSeconds).toBeGreaterThan(TIMEOUT_MS / 1000);
  });

  it('the attempts to send a webhook end without a line when another process has the job', async () => {
    await start();
    receiver.answers.push(() => undefined);
    const lost = new AbortController();
    const { next } = receiver;
    const delivered = queue.deliver(announce(), 1, lost.signal);
    await next;
    lost.abort(new Error('lost'));
    await expect(delivered).rejects.toThrow('the attempt was stopped');
    expect(log.complaints).toEqual([]);
  });
});

describe('a shutdown', () => {
  /** How long the last attempts may take. */
  const LAST_ATTEMPTS_MS = 2000;

  it('a shutdown lets a running attempt end, takes no other, and only then stops the state', async () => {
    await start();
    const backend = service.app.get(StateBackend);
    const stop = jest.spyOn(backend, 'stop');
    let answer = (): void => undefined;
    receiver.answers.push((response) => (answer = () => void response.writeHead(204).end()));
    const { next } = receiver;
    const delivered = queue.deliver(announce(), 1);
    await next;
    const closed = service.close();
    await until(() => !queue.isWorked('webhooks'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(stop).not.toHaveBeenCalled();
    answer();
    await expect(delivered).resolves.toBeUndefined();
    await closed;
    expect(stop).toHaveBeenCalledTimes(1);
  });

  it('a shutdown stops an attempt that takes too long, so that another process makes it again', async () => {
    await start();
    receiver.answers.push(() => undefined);
    const { next } = receiver;
    const delivered = queue.deliver(announce(), 1);
    // Handled before the shutdown waits for it.
    const failed = expect(delivered).rejects.toThrow('the attempt was stopped');
    await next;
    const closed = service.close();
    await until(() => !queue.isWorked('webhooks'));
    clock.advance(LAST_ATTEMPTS_MS);
    await failed;
    await closed;
    expect(log.complaints).toEqual([]);
  });
});
