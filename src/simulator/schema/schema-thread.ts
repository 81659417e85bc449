/** The thread of schemas that take long: the event loop of the service must not wait for them. */
import { parentPort } from 'node:worker_threads';

import { makeSchemaData, type SchemaData } from './schema-data.js';

/** A schema to fill, as JSON. */
export interface SchemaTask {
  readonly text: string;
  readonly seed: number;
}

/** What was found; or the error of `makeSchemaData`. */
export type SchemaReply = { readonly data: SchemaData } | { readonly error: unknown };

parentPort?.on('message', (task: SchemaTask) => parentPort?.postMessage(reply(task)));

function reply({ text, seed }: SchemaTask): SchemaReply {
  try {
    return { data: makeSchemaData(JSON.parse(text), seed) };
  } catch (error) {
    return { error };
  }
}
