import type { TurnResult } from '../transport.js';
import { SSE_TRANSPORT } from '../transports.js';
import type { ChatAnswers } from './chat-answer.js';
import type { Quirks } from './quirks.js';
import { type ChatService, MODEL } from './start-chat-service.js';

/** A turn over SSE whose upstream is told before what to answer. Rejects with Refusal when it is refused. */
export function runTurn(
  service: ChatService,
  answers: ChatAnswers,
  quirks: Quirks = {},
  members: object = {},
): Promise<TurnResult> {
  service.upstream.answer(answers, quirks);
  return sendTurn(service, members);
}

/** A turn over SSE. Rejects with Refusal when it is refused. */
export function sendTurn(service: ChatService, members: object = {}): Promise<TurnResult> {
  return SSE_TRANSPORT.run(service, { model: MODEL, input: 'Go on.', ...members });
}

/** The deltas of a kind, as they were streamed. */
export function deltasOf({ events = [] }: TurnResult, type: string): readonly unknown[] {
  return events.filter((event) => event.type === type).map((event) => event['delta']);
}
