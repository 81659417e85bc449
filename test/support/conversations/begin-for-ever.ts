import type { ServiceProcess } from '../process-service.js';
import type { Conversation } from './conversation.js';
import { sendStream } from './send-turn.js';

/** A turn that is running. */
export interface RunningTurn {
  /** Resolves with what ended it. */
  readonly end: Promise<unknown>;
}

/** Begins a turn on a replica that never ends by itself; resolves once the model has begun to speak. */
export async function beginForEver(replica: ServiceProcess, conversation: Conversation): Promise<RunningTurn> {
  const { body, headers } = conversation.request('This turn does not end.');
  const speaking = Promise.withResolvers<undefined>();
  const request = { body, headers: { ...headers, 'x-simulate': 'fault=stall; after=1' } };
  const end = sendStream(replica.origin, request, ({ type }) => {
    if (type === 'response.output_text.delta') speaking.resolve(undefined);
  }).catch((error: unknown) => error);
  const ended = await Promise.race([speaking.promise, end]);
  if (ended !== undefined) throw new Error('the turn ended before it could run', { cause: ended });
  return { end };
}
