import { hash } from 'node:crypto';

import type { Item } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';
import type { Capabilities } from '../capabilities.js';
import { unsealReasoning } from '../reasoning-seal.js';
import { type HistoryCall, type HistoryOutput, readCall, readOutput, type ToolTable } from '../tools/index.js';
import { AssistantDraft } from './assistant-draft.js';
import { type ChatMessage, type ChatPart, textOf, toContent } from './chat-message.js';
import { refuse } from './refuse.js';
import { toParts } from './to-parts.js';

/** A call that a client has left without an output still needs one upstream. */
const NO_OUTPUT = '(no output)';

/**
 * A conversation as messages of Chat Completions. However the client ordered calls and outputs, each call is followed by its
 * output, and the calls of one answer stay together. Throws ModelError 400 for what this upstream cannot be told.
 */
export function toMessages(
  items: readonly Item[],
  tools: ToolTable,
  capabilities: Capabilities,
): readonly ChatMessage[] {
  return new MessageWriter(items, tools, capabilities).write(items);
}

class MessageWriter {
  private readonly messages: ChatMessage[] = [];
  private readonly outputs: ReadonlyMap<string, HistoryOutput[]>;
  private readonly callIds: ReadonlySet<string | undefined>;
  private draft = new AssistantDraft();

  constructor(
    items: readonly Item[],
    private readonly tools: ToolTable,
    private readonly capabilities: Capabilities,
  ) {
    const outputs = items.map(readOutput).filter((output) => output !== undefined);
    this.outputs = Map.groupBy(outputs, ({ callId }) => callId ?? '');
    this.callIds = new Set(items.map((item) => readCall(item)?.callId));
  }

  write(items: readonly Item[]): readonly ChatMessage[] {
    for (const item of items) this.add(item);
    this.endAnswer();
    return this.messages;
  }

  private add(item: Item): void {
    const call = readCall(item);
    const output = call === undefined ? readOutput(item) : undefined;
    if (call !== undefined) this.draft.calls.push(call);
    else if (output !== undefined) this.addOutput(output);
    else if (item.type === 'message') this.addMessage(item);
    else if (item.type === 'reasoning') this.addReasoning(item);
    else if (item.type === 'compaction' || item.type === 'compaction_summary') {
      refuse('input', 'This model cannot read compacted conversations of another service.');
    }
    // Everything else is either in the tools already, or left no more than what the messages around it say.
  }

  private addMessage({ role, content }: Item): void {
    const parts = toParts(content, this.capabilities);
    if (role === 'assistant') {
      if (this.draft.hasCalls) this.endAnswer();
      this.draft.say(parts);
      return;
    }
    this.endAnswer();
    this.messages.push({ role: role as 'system' | 'developer' | 'user', content: toContent(parts) });
  }

  private addReasoning(item: Item): void {
    if (this.capabilities.reasoningReplay === 'none') return;
    const text = reasoningOf(item);
    if (text === '') return;
    if (this.draft.hasCalls) this.endAnswer();
    this.draft.think(text);
  }

  /** Most outputs have their place behind their call. What belongs to no call is told as the user's words. */
  private addOutput({ callId, output }: HistoryOutput): void {
    this.endAnswer();
    if (callId !== undefined && this.callIds.has(callId)) return;
    const parts = toParts(output, this.capabilities);
    this.messages.push({ role: 'user', content: toContent([{ type: 'text', text: 'Output of a tool:' }, ...parts]) });
  }

  private endAnswer(): void {
    const { draft, capabilities } = this;
    if (draft.isEmpty) return;
    this.draft = new AssistantDraft();
    this.messages.push(draft.toMessage(this.tools, (id) => this.toUpstreamId(id), capabilities.reasoningReplay));
    const pictures = draft.calls.flatMap((call) => this.answerCall(call));
    if (pictures.length > 0) this.messages.push({ role: 'user', content: pictures });
  }

  /** Writes the output of a call; gives what of it has no place in a tool message. */
  private answerCall({ callId = '', address }: HistoryCall): readonly ChatPart[] {
    const name = this.tools.nameOf(address);
    const parts = toParts(this.outputs.get(callId)?.shift()?.output ?? NO_OUTPUT, this.capabilities);
    const pictures = parts.filter(({ type }) => type !== 'text');
    const staysWhole = pictures.length === 0 || this.capabilities.toolImages;
    const text = textOf(parts) || '(see the next message)';
    this.messages.push({
      role: 'tool',
      tool_call_id: this.toUpstreamId(callId),
      ...(this.capabilities.toolNames ? { name } : {}),
      content: staysWhole ? toContent(parts) : text,
    });
    return staysWhole ? [] : [{ type: 'text', text: `Output of ${name}:` }, ...pictures];
  }

  private toUpstreamId(callId: string): string {
    if (this.capabilities.callIds === 'any' || /^[a-zA-Z0-9]{9}$/.test(callId)) return callId;
    return hash('sha256', callId).slice(0, 9);
  }
}

/** What a reasoning item says in the open, or what a stateless client carried for us. */
function reasoningOf({ content, encrypted_content: encrypted }: Item): string {
  const parts = Array.isArray(content) ? (content as readonly unknown[]).filter(isObject) : [];
  const text = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('');
  return text === '' ? (unsealReasoning(encrypted) ?? '') : text;
}
