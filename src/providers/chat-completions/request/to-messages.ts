import { hash } from 'node:crypto';

import { type Item, lateOutputs } from '../../../protocol/index.js';
import { objectsIn } from '../../../validation/index.js';
import { type Maker, type OwnData, ownDataOf } from '../opaque/own-data.js';
import type { OpaqueCall } from '../opaque/opaque-members.js';
import { type HistoryCall, type HistoryOutput, readCall, readOutput } from '../tools/history-calls.js';
import { withoutOwnToolItems } from '../../transcripts/index.js';
import { type HistoryNote, readNote } from '../tools/history-notes.js';
import type { ToolTable } from '../tools/tool-table.js';
import { AssistantDraft } from './assistant-draft.js';
import { type ChatMessage, type ChatPart, isSaid, textOf, toContent } from './chat-message.js';
import { refuseCompaction } from './refuse.js';
import { type PartOptions, toOutputParts, toParts } from './to-parts.js';

/** Output of a call that has none in the transcript: upstreams require one. */
const NO_OUTPUT = '(no output)';

/** Output of an asynchronous call that has none yet. */
const STILL_RUNNING = '(still running; the output follows in a later message)';

/**
 * Translates a transcript into Chat Completions messages. The calls of one answer stay together, and each is followed by its
 * output, whatever their order in the transcript; only the output of an asynchronous call that came later stays in its place. Opaque data goes
 * back where it stood, to the one who has made it. Throws ModelError 400 for items that the upstream does not support.
 */
export function toMessages(
  items: readonly Item[],
  tools: ToolTable,
  capabilities: PartOptions,
  maker: Maker,
): readonly ChatMessage[] {
  return new MessageWriter(withoutOwnToolItems(items), tools, capabilities, maker).write();
}

/** An item with the call, the output and the opaque data that it holds. */
interface Entry {
  readonly item: Item;
  readonly call: HistoryCall | undefined;
  readonly output: HistoryOutput | undefined;
  readonly opaque: OwnData | undefined;
}

class MessageWriter {
  private readonly messages: ChatMessage[] = [];
  private readonly entries: readonly Entry[];
  private readonly outputs: ReadonlyMap<string, HistoryOutput[]>;
  private readonly callIds: ReadonlySet<string | undefined>;
  /** Outputs of asynchronous calls that came when the model had gone on, with what was called. */
  private readonly late: ReadonlyMap<HistoryOutput, HistoryCall>;
  /** The opaque data of calls, by their ids. */
  private readonly ofCalls: ReadonlyMap<string, OpaqueCall>;
  private draft: AssistantDraft;

  constructor(
    items: readonly Item[],
    private readonly tools: ToolTable,
    private readonly capabilities: PartOptions,
    maker: Maker,
  ) {
    this.draft = new AssistantDraft(capabilities);
    this.entries = items.map((item) => {
      return { item, call: readCall(item), output: readOutput(item, tools), opaque: ownDataOf(item, maker) };
    });
    const opaque = this.entries.map((entry) => entry.opaque).filter((data) => data !== undefined);
    this.ofCalls = new Map(opaque.flatMap((data) => [...data.calls]));
    this.late = findLate(items, this.entries);
    const given = this.entries.map(({ output }) => output).filter((output) => output !== undefined);
    const outputs = given.filter((output) => !this.late.has(output));
    const calls = this.entries.map(({ call }) => call).filter((call) => call !== undefined);
    const counts = Map.groupBy(calls, ({ callId }) => callId);
    this.callIds = new Set(counts.keys());
    this.outputs = new Map(
      [...Map.groupBy(outputs, ({ callId }) => callId ?? '')].map(([callId, ofCall]) => [
        callId,
        joinFrom(ofCall, counts.get(callId)?.length ?? 0),
      ]),
    );
  }

  write(): readonly ChatMessage[] {
    for (const entry of this.entries) this.add(entry);
    this.endAnswer();
    return this.messages;
  }

  /** An item that holds both, such as `mcp_call`, is added as a call; its output follows. */
  private add({ item, call, output, opaque }: Entry): void {
    if (call !== undefined) this.draft.calls.push(call);
    else if (output !== undefined) this.addOutput(output);
    else if (item.type === 'message') this.addMessage(item);
    else if (item.type === 'reasoning') this.addReasoning(item, opaque);
    else if (item.type === 'agent_message') this.addAgentMessage(item);
    else if (item.type === 'compaction' || item.type === 'compaction_summary') {
      refuseCompaction();
    } else this.addNote(readNote(item));
  }

  private addMessage({ role, content }: Item): void {
    const parts = toParts(content, this.capabilities);
    if (role === 'assistant') {
      if (this.draft.hasCalls) this.endAnswer();
      this.draft.say(parts);
      return;
    }
    const said = parts.filter(isSaid);
    // What is not sent does not end the answer before it: two in a row are refused by some servers.
    if (said.length === 0 && role !== 'user') return;
    this.endAnswer();
    this.messages.push({ role: role as 'system' | 'developer' | 'user', content: toContent(said) });
  }

  /** A message between two agents of a client: its text, and `encrypted_content` that is not encrypted. */
  private addAgentMessage({ content }: Item): void {
    const parts = objectsIn(content);
    const texts = parts.flatMap(({ text, encrypted_content: sealed }) => [text, isForeign(sealed) ? '' : sealed]);
    const words = texts.filter((text) => typeof text === 'string').join('');
    this.endAnswer();
    if (words !== '') this.messages.push({ role: 'user', content: words });
  }

  private addReasoning(item: Item, opaque: OwnData | undefined): void {
    const text = reasoningOf(item);
    const isRead = this.capabilities.reasoningReplay !== 'none' || opaque !== undefined;
    // Before the calls it may belong to opaque data that follows.
    if (!isRead && this.draft.hasCalls) return;
    if (text !== '' && this.draft.hasCalls) this.endAnswer();
    if (opaque !== undefined) this.draft.keep(opaque.members);
    if (text !== '') this.draft.think(text);
  }

  /** Outputs follow their call. A late one, and one without a call, becomes a user message. */
  private addOutput(given: HistoryOutput): void {
    const { callId, output } = given;
    this.endAnswer();
    const call = this.late.get(given);
    if (call === undefined && callId !== undefined && this.callIds.has(callId)) return;
    const source =
      call === undefined ? 'a tool' : `${this.tools.nameOf(call.address)}, call ${this.toUpstreamId(call.callId)}`;
    const parts = toOutputParts(output, this.capabilities);
    const text = `Output of ${source}:`;
    this.messages.push({ role: 'user', content: toContent([{ type: 'text', text }, ...parts]) });
  }

  /** Tells what happened without a call, in front of the answer that follows from it. */
  private addNote(note: HistoryNote | undefined): void {
    if (note === undefined) return;
    if (this.draft.hasWords) this.endAnswer();
    const parts = toOutputParts(note.parts, this.capabilities);
    this.messages.push({ role: 'user', content: toContent([{ type: 'text', text: note.title }, ...parts]) });
  }

  private endAnswer(): void {
    const { draft, capabilities } = this;
    this.draft = new AssistantDraft(capabilities);
    if (draft.isEmpty) return;
    this.messages.push(draft.toMessage(this.tools, (id) => this.toUpstreamId(id), this.ofCalls));
    const pictures = draft.calls.flatMap((call) => this.answerCall(call));
    if (pictures.length > 0) this.messages.push({ role: 'user', content: pictures });
  }

  /** Writes the output of a call; returns the parts that a tool message cannot hold. */
  private answerCall({ callId, address, isAsync }: HistoryCall): readonly ChatPart[] {
    const none = isAsync ? STILL_RUNNING : NO_OUTPUT;
    const parts = toOutputParts(this.outputs.get(callId)?.shift()?.output ?? none, this.capabilities);
    const pictures = parts.filter(({ type }) => type !== 'text');
    const staysWhole = pictures.length === 0 || this.capabilities.toolImages;
    const text = textOf(parts) || '(see the next message)';
    this.messages.push({
      role: 'tool',
      tool_call_id: this.toUpstreamId(callId),
      ...(this.capabilities.toolNames ? { name: this.tools.nameOf(address) } : {}),
      content: staysWhole ? toContent(parts) : text,
    });
    return staysWhole ? [] : [{ type: 'text', text: `Output of ${this.tools.nameOf(address)}:` }, ...pictures];
  }

  private toUpstreamId(callId: string): string {
    if (this.capabilities.callIds === 'any' || /^[a-zA-Z0-9]{9}$/.test(callId)) return callId;
    return hash('sha256', callId).slice(0, 9);
  }
}

function findLate(items: readonly Item[], entries: readonly Entry[]): ReadonlyMap<HistoryOutput, HistoryCall> {
  const late = lateOutputs(items);
  // The common case.
  if (late.size === 0) return new Map();
  const calls = new Map(entries.map(({ item, call }) => [item, call]));
  const found = new Map<HistoryOutput, HistoryCall>();
  for (const { item, output } of entries) {
    const called = late.get(item);
    const call = called && calls.get(called);
    if (output !== undefined && call !== undefined) found.set(output, call);
  }
  return found;
}

/** One output per call; surplus outputs are appended to the last. */
function joinFrom(outputs: readonly HistoryOutput[], calls: number): HistoryOutput[] {
  if (outputs.length <= calls || calls === 0) return [...outputs];
  const last = outputs.slice(calls - 1).flatMap(({ output }) => {
    return typeof output === 'string' ? [{ type: 'input_text', text: output }] : output;
  });
  return [...outputs.slice(0, calls - 1), { callId: outputs[0]?.callId, output: last }];
}

/** Whether another service encrypted it: Fernet tokens begin with `gAAAA`. */
function isForeign(sealed: unknown): boolean {
  return typeof sealed === 'string' && sealed.startsWith('gAAAA');
}

/** The text of a reasoning item; empty for one that another service has encrypted. */
export function reasoningOf({ content }: Item): string {
  return objectsIn(content)
    .map((part) => (typeof part.text === 'string' ? part.text : ''))
    .join('');
}
