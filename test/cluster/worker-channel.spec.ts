import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import { expect, it } from '@jest/globals';

const SERVE_AS_WORKER = new URL('../../dist/operations/workers/serve-as-worker.js', import.meta.url).href;

/** A worker that writes to a primary that is gone, as Node does with a connection that it got just before. */
const PROGRAM = `
  import { serveAsWorker } from '${SERVE_AS_WORKER}';
  await serveAsWorker(async () => 'http://127.0.0.1', String);
  process.once('SIGTERM', () => console.log('shuts down'));
  process.disconnect();
  process.send({ accepted: true });
`;

it('a worker survives that its primary is killed before it has confirmed a connection', async () => {
  // By its variable, and by having a program, Node knows a worker of a cluster.
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, 'program'], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, NODE_UNIQUE_ID: '1' },
  });
  const [written, complaints, ended] = await Promise.all([
    text(worker.stdout as Readable),
    text(worker.stderr as Readable),
    once(worker, 'close'),
  ]);
  expect({ written, complaints, ended }).toEqual({ written: 'shuts down\n', complaints: '', ended: [0, null] });
});
