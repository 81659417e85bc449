import { Worker } from 'node:worker_threads';

import { boundWork, TooMuchWork } from '../work.js';
import { isStackOverflow, makeSchemaData, type SchemaData } from './schema-data.js';
import { countValues, LOOK_STEPS } from './schema-parts.js';
import type { SchemaReply, SchemaTask } from './schema-thread.js';

/** The largest schema that the event loop waits for, in characters and in values: Ajv compiles it in 40 ms at most. */
const QUICK: SchemaSize = { characters: 32 * 1024, values: 500 };
/** Steps that the event loop may wait for: 6 ms for most schemas and 40 ms for the worst known. An ordinary tool takes some thousand. */
const QUICK_STEPS = 300_000;

/** The largest schema that is filled at all. OpenAI accepts 5000 properties. */
const LARGEST: SchemaSize = { characters: 256 * 1024, values: 20_000 };

/** The stack of the thread, MB: several times what the largest schemas need. */
const STACK_MB = 32;

interface SchemaSize {
  readonly characters: number;
  readonly values: number;
}

/**
 * Finds a value that a JSON Schema allows, as `makeSchemaData` does, and the same one. What takes more than 300,000 steps, or may
 * take Ajv long to compile, is done in a thread, one schema after another: which, is decided by counts. Rejects if the thread fails.
 */
export async function fillSchema(schema: unknown, seed: number): Promise<SchemaData> {
  // Undefined for what is not JSON, which is refused at once.
  const text = (JSON.stringify(schema) as string | undefined) ?? '';
  if (!isWithin(LARGEST, schema, text)) {
    return { found: false, reason: 'It is too large for the simulator.', tooMuch: true };
  }
  if (isWithin(QUICK, schema, text)) {
    const data = makeAtOnce(schema, seed);
    if (data !== null && (data.found || !data.tooMuch)) return data;
  }
  return thread.fill({ text, seed });
}

/** Null if the stack is too small: that of the thread is as large for every schema. */
function makeAtOnce(schema: unknown, seed: number): SchemaData | null {
  try {
    return makeSchemaData(schema, seed, QUICK_STEPS);
  } catch (error) {
    if (isStackOverflow(error)) return null;
    throw error;
  }
}

function isWithin({ characters, values }: SchemaSize, schema: unknown, text: string): boolean {
  if (text.length > characters) return false;
  try {
    boundWork(LOOK_STEPS * values, () => countValues(schema));
    return true;
  } catch (error) {
    if (error instanceof TooMuchWork) return false;
    throw error;
  }
}

interface WaitingTask extends PromiseWithResolvers<SchemaData> {
  readonly task: SchemaTask;
}

/** Fills schemas in a thread, which runs for as long as any wait. */
class SchemaThread {
  private readonly waiting: WaitingTask[] = [];
  private worker: Worker | null = null;

  fill(task: SchemaTask): Promise<SchemaData> {
    const waiting = { task, ...Promise.withResolvers<SchemaData>() };
    this.waiting.push(waiting);
    if (this.waiting.length === 1) this.next();
    return waiting.promise;
  }

  private next(): void {
    const [first] = this.waiting;
    if (first === undefined) {
      void this.worker?.terminate();
      this.worker = null;
      return;
    }
    this.worker ??= this.start();
    this.worker.postMessage(first.task);
  }

  private start(): Worker {
    const worker = new Worker(new URL('./schema-thread.js', import.meta.url), {
      resourceLimits: { stackSizeMb: STACK_MB },
    });
    let failure: unknown = new Error('The thread of schemas has ended.');
    worker.on('message', (reply: SchemaReply) => this.finish(reply));
    worker.on('error', (error: unknown) => (failure = error));
    worker.on('exit', () => {
      // One that was terminated has nothing to do any more.
      if (this.worker !== worker) return;
      this.worker = null;
      this.finish({ error: failure });
    });
    return worker;
  }

  private finish(reply: SchemaReply): void {
    const first = this.waiting.shift();
    if ('data' in reply) first?.resolve(reply.data);
    else first?.reject(reply.error);
    this.next();
  }
}

const thread = new SchemaThread();
