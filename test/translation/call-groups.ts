import { requireRule } from '../../src/testing/events/rule.js';
import type { Members } from '../support/output.js';

/** A call upstream, with what it gave back. */
export interface AnsweredCallMessage {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly output: unknown;
}

interface ToolCall {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/**
 * The calls in messages, in order. Throws unless every assistant message with calls is directly followed by exactly one tool
 * message for each of them, in order and with its name (`isNamed`), and there are no other tool messages.
 */
export function readCalls(messages: readonly Members[], isNamed = true): readonly AnsweredCallMessage[] {
  const rest = [...messages];
  const calls: AnsweredCallMessage[] = [];
  for (let message = rest.shift(); message !== undefined; message = rest.shift()) {
    requireRule(message['role'] !== 'tool', `a tool message must follow its call: ${JSON.stringify(messages)}`);
    for (const made of callsOf(message)) calls.push(readCall(made, rest.shift(), isNamed));
  }
  return calls;
}

/** What messages say and call, in order: `user: …`, `call: <name> of <id>`. Parts of one message are lines. */
export function readSaid(messages: readonly Members[]): readonly string[] {
  return messages.flatMap((message) => {
    const { role, content } = message;
    if (role === 'tool') return [];
    const texts = typeof content === 'string' && content !== '' ? content.split('\n') : [];
    const calls = callsOf(message).map(({ id, function: { name } }) => `call: ${name} of ${id}`);
    return [...texts.map((text) => `${String(role)}: ${text}`), ...calls];
  });
}

function callsOf({ tool_calls: calls }: Members): readonly ToolCall[] {
  return (calls ?? []) as readonly ToolCall[];
}

function readCall({ id, type, function: made }: ToolCall, answer: Members = {}, isNamed: boolean): AnsweredCallMessage {
  const { role, tool_call_id: answered, name, content } = answer;
  requireRule(type === 'function', 'calls are calls of functions');
  requireRule(role === 'tool', `the call ${id} must be followed by its output`);
  requireRule(answered === id, `the output of ${id} must be in the place of the call`);
  requireRule(name === (isNamed ? made.name : undefined), `the output of ${id} must have the name of the call`);
  return { id, name: made.name, arguments: made.arguments, output: content };
}
