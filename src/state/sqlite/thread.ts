/** The thread of STATE=sqlite: SQLite is synchronous, and the event loop of the service must not wait for a disk. */
import { join } from 'node:path';
import { type MessagePort, parentPort } from 'node:worker_threads';

import type { Call, Damage, Opened, Reply, ThreadOptions, Unread } from './calls.js';
import { execute, OpenFiles, Reserve } from './execute.js';
import { logDamageWith } from '../readable-page.js';
import { explainStart } from './errors.js';
import { closeDatabase, FILE_NAME, openDatabase } from './open-database.js';
import { operationsOf } from './operations.js';
import { findVectorExtension } from './vector-extension.js';

const WITHOUT = { path: null, about: 'vectors are compared by the process' };

/** Executes what the port asks for; the calls of a message are executed together. */
function serve(port: MessagePort, options: ThreadOptions, extension: string | null): void {
  const database = openDatabase(options, extension);
  const { directory, maxContextBytes = Infinity } = options;
  const file = join(directory, FILE_NAME);
  const files = new OpenFiles([file, `${file}-wal`]);
  const reserve = new Reserve(`${file}-reserve`);
  const time = { now: 0 };
  const operations = operationsOf(database, () => time.now, maxContextBytes);
  logDamageWith({ warn: (damage) => port.postMessage({ damage } satisfies Damage) });
  const state = { directory, database, operations, time, files, reserve };
  port.on('message', (message: readonly Call[] | 'close') => {
    if (message !== 'close') {
      answer(port, execute(state, message));
      return;
    }
    closeDatabase(database);
    port.close();
  });
  // Without a listener the error would be lost, and the calls of the message would never be answered.
  port.on('messageerror', (error) => port.postMessage({ unread: String(error) } satisfies Unread));
}

/** Sends replies in one message. Those that cannot be copied, such as values that are nested too deep, become errors. */
function answer(port: MessagePort, replies: readonly Reply[]): void {
  try {
    port.postMessage(replies);
  } catch {
    port.postMessage(replies.map(toCopied));
  }
}

function toCopied(reply: Reply): Reply {
  try {
    structuredClone(reply);
    return reply;
  } catch (error) {
    return { id: reply.id, error: `the answer of the database cannot be copied (${String(error)})` };
  }
}

/** Opens the file and serves it, or says why not. */
async function open(port: MessagePort, options: ThreadOptions): Promise<Opened> {
  const isWanted = options.usesExtension !== false;
  const { path, about } = isWanted ? await findVectorExtension() : WITHOUT;
  try {
    serve(port, options, path);
    return { isOpen: true, vectors: about };
  } catch (error) {
    return { isOpen: false, message: explainStart(error, options.directory) };
  }
}

const port = parentPort;
// The first message has the options: the thread may be loaded before they are known.
port?.once('message', (options: ThreadOptions) => {
  void open(port, options).then((opened) => port.postMessage(opened));
});
