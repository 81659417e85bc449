import { hash } from 'node:crypto';

import type { Item } from '../../../protocol/index.js';
import { objectsIn } from '../../../validation/index.js';
import type { Capabilities } from '../capabilities.js';
import { unsealReasoning } from '../reasoning-seal.js';
import { type HistoryCall, type HistoryOutput, readCall, readOutput, type ToolTable } from '../tools/index.js';
import { AssistantDraft } from './assistant-draft.js';
import { type ChatMessage, type ChatPart, textOf, toContent } from './chat-message.js';
import { refuse } from './refuse.js';
import { toOutputParts, toParts } from './to-parts.js';

/** A call that a client has left without an output still needs one upstream. */
const NO_OUTPUT = '(no output)';

/**
 * A transcript as messages of Chat Completions. However the client ordered calls and outputs, each call is followed by its
 * output, and the calls of one answer stay together. Throws ModelError 400 for what this upstream cannot be told.
 */
export function toMessages(
  items: readonly Item[],
  tools: ToolTable,
  capabilities: Capabilities,
): readonly ChatMessage[] {
  return new MessageWriter(items, tools, capabilities).write();
}

/** An item, and what of a call or its output is in it. */
interface Entry {
  readonly item: Item;
  readonly call: HistoryCall | undefined;
  readonly output: HistoryOutput | undefined;
}

class MessageWriter {
  private readonly messages: ChatMessage[] = [];
  private readonly entries: readonly Entry[];
  private readonly outputs: ReadonlyMap<string, HistoryOutput[]>;
  private readonly callIds: ReadonlySet<string | undefined>;
  private draft = new AssistantDraft();

  constructor(
    items: readonly Item[],
    private readonly tools: ToolTable,
    private readonly capabilities: Capabilities,
  ) {
    this.entries = items.map((item) => ({ item, call: readCall(item), output: readOutput(item, tools) }));
    const outputs = this.entries.map(({ output }) => output).filter((output) => output !== undefined);
    const calls = this.entries.map(({ call }) => call).filter((call) => call !== undefined);
    const counts = Map.groupBy(calls, ({ callId }) => callId);
    this.callIds = new Set(counts.keys());
    this.outputs = new Map(
      [...Map.groupBy(outputs, ({ callId }) => callId ?? '')].map(([callId, given]) => [
        callId,
        joinFrom(given, counts.get(callId)?.length ?? 0),
      ]),
    );
  }

  write(): readonly ChatMessage[] {
    for (const entry of this.entries) this.add(entry);
    this.endAnswer();
    return this.messages;
  }

  /** An item that holds both is a call, and its output follows it like any other's. */
  private add({ item, call, output }: Entry): void {
    if (call !== undefined) this.draft.calls.push(call);
    else if (output !== undefined) this.addOutput(output);
    else if (item.type === 'message') this.addMessage(item);
    else if (item.type === 'reasoning') this.addReasoning(item);
    else if (item.type === 'agent_message') this.addAgentMessage(item);
    else if (item.type === 'compaction' || item.type === 'compaction_summary') {
      refuse('input', 'This model cannot read compacted transcripts of another service.');
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

  /** What one agent of a client says to another: its text, and what it would have a server of OpenAI's keep sealed. */
  private addAgentMessage({ content }: Item): void {
    const parts = objectsIn(content);
    const texts = parts.flatMap(({ text, encrypted_content: sealed }) => [text, isForeign(sealed) ? '' : sealed]);
    const words = texts.filter((text) => typeof text === 'string').join('');
    this.endAnswer();
    if (words !== '') this.messages.push({ role: 'user', content: words });
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
    const parts = toOutputParts(output, this.capabilities);
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
  private answerCall({ callId, address }: HistoryCall): readonly ChatPart[] {
    const name = this.tools.nameOf(address);
    const parts = toOutputParts(this.outputs.get(callId)?.shift()?.output ?? NO_OUTPUT, this.capabilities);
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

/** As many outputs as there are calls: what is too much belongs to the last. */
function joinFrom(outputs: readonly HistoryOutput[], calls: number): HistoryOutput[] {
  if (outputs.length <= calls || calls === 0) return [...outputs];
  const last = outputs.slice(calls - 1).flatMap(({ output }) => {
    return typeof output === 'string' ? [{ type: 'input_text', text: output }] : output;
  });
  return [...outputs.slice(0, calls - 1), { callId: outputs[0]?.callId, output: last }];
}

/** What another service sealed; Fernet tokens begin like this. */
function isForeign(sealed: unknown): boolean {
  return typeof sealed === 'string' && sealed.startsWith('gAAAA');
}

/** What a reasoning item says in the open, or what a stateless client carried for us. */
function reasoningOf({ content, encrypted_content: encrypted }: Item): string {
  const parts = objectsIn(content);
  const text = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('');
  return text === '' ? (unsealReasoning(encrypted) ?? '') : text;
}
