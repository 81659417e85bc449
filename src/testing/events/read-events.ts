import { requireRule, type WireEvent } from './rule.js';

const EVENT = 'event: ';
const DATA = '\ndata: ';

/**
 * Reads SSE text as events and checks its framing (protocol §1.1): `event:` equals the type in `data:`, one blank line, no
 * other fields, and `data: [DONE]` at the end and only there. Throws an Error that names the rule.
 */
export async function* readEvents(texts: AsyncIterable<string>): AsyncGenerator<WireEvent, void, undefined> {
  let rest = '';
  let done = false;
  for await (const text of texts) {
    const frames = (rest + text).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      requireRule(!done, `nothing may follow [DONE], but there is: ${frame}`);
      if (frame === 'data: [DONE]') done = true;
      else yield readFrame(frame);
    }
  }
  requireRule(rest === '', `the stream must end with a whole frame, not with: ${rest}`);
  requireRule(done, 'the stream must end with [DONE]');
}

/** One frame of SSE as the event it carries. Throws an Error that names the rule. */
export function readFrame(frame: string): WireEvent {
  // A pattern runs out of stack in a frame of megabytes.
  const end = frame.startsWith(EVENT) ? frame.indexOf('\n') : -1;
  const isFrame = end > EVENT.length && frame.startsWith(DATA, end) && frame.indexOf('\n', end + 1) === -1;
  const name = frame.slice(EVENT.length, end);
  const data = frame.slice(end + DATA.length);
  requireRule(isFrame && data !== '', `a frame must be event: and data: and nothing else: ${frame}`);
  const event = JSON.parse(data) as WireEvent;
  requireRule(event.type === name, `event: ${name} must be the type in data:, ${event.type}`);
  return event;
}

/** The body of an answer as text, piece by piece. */
export async function* textOf(answer: Response): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) yield decoder.decode(chunk as Uint8Array, { stream: true });
}
