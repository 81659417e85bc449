import type { Capabilities } from '../capabilities.js';
import { joinMembers, type OpaqueCall, type OpaqueMembers } from '../opaque/opaque-members.js';
import type { HistoryCall } from '../tools/history-calls.js';
import type { ToolTable } from '../tools/tool-table.js';
import { type ChatMessage, type ChatPart, type ChatToolCall, isSaid, toContent } from './chat-message.js';

/** Collects the reasoning, text and calls of one answer into an assistant message. */
export class AssistantDraft {
  readonly calls: HistoryCall[] = [];
  private readonly parts: ChatPart[] = [];
  private readonly reasoning: string[] = [];
  private opaque: OpaqueMembers = {};

  constructor(private readonly capabilities: Pick<Capabilities, 'reasoningReplay' | 'reasoningOnCalls'>) {}

  /** Whether there are calls. Reasoning and text precede them, so later ones belong to the next answer. */
  get hasCalls(): boolean {
    return this.calls.length > 0;
  }

  /** Whether there is more than reasoning. */
  get hasWords(): boolean {
    return this.hasCalls || this.parts.length > 0;
  }

  /** Whether there is nothing to send: empty texts, and opaque data alone, are nothing. */
  get isEmpty(): boolean {
    const isReasoning = this.reasoning.length > 0 && this.capabilities.reasoningReplay !== 'none';
    return !this.hasCalls && !this.parts.some(isSaid) && !this.isSigned && !isReasoning;
  }

  /** Whether opaque data belongs to a text, which may be empty. */
  private get isSigned(): boolean {
    return this.opaque.text !== undefined && this.parts.some(({ type }) => type === 'text');
  }

  say(parts: readonly ChatPart[]): void {
    for (const part of parts) this.parts.push(part);
  }

  think(text: string): void {
    this.reasoning.push(text);
  }

  /** Adds what the upstream demands back with the message. */
  keep(opaque: OpaqueMembers): void {
    this.opaque = joinMembers(this.opaque, opaque);
  }

  /** The message, with reasoning in the member that the upstream reads. `opaque` has what it demands back with calls, by their ids. */
  toMessage(
    tools: ToolTable,
    toUpstreamId: (callId: string) => string,
    opaque: ReadonlyMap<string, OpaqueCall>,
  ): ChatMessage {
    const calls = this.calls.map((call) => toToolCall(call, opaque.get(call.callId), tools, toUpstreamId));
    return {
      role: 'assistant',
      content: this.content,
      ...this.thoughts,
      ...this.opaque.message,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
  }

  private get content(): ChatMessage['content'] {
    const { content = [], text } = this.opaque;
    const { isSigned } = this;
    const last = this.parts.findLastIndex(({ type }) => type === 'text');
    if (content.length > 0 || isSigned) {
      const parts = this.parts.map((part, index) => (isSigned && index === last ? { ...part, ...text } : part));
      return [...(content as readonly ChatPart[]), ...parts];
    }
    const said = this.parts.filter(isSaid);
    if (said.length === 0) return this.hasCalls ? null : '';
    return toContent(said);
  }

  private get thoughts(): Readonly<Record<string, string>> {
    const { reasoningReplay: replay, reasoningOnCalls } = this.capabilities;
    const { thoughts: signed } = this.opaque;
    const text = this.reasoning.join('\n');
    const isDemanded = reasoningOnCalls && this.hasCalls;
    return {
      ...(replay !== 'none' && (text !== '' || isDemanded) ? { [replay]: text } : {}),
      ...(signed !== undefined && text !== '' ? { [signed]: text } : {}),
    };
  }
}

function toToolCall(
  { callId, address, arguments: json }: HistoryCall,
  opaque: OpaqueCall | undefined,
  tools: ToolTable,
  toUpstreamId: (callId: string) => string,
): ChatToolCall {
  return {
    id: toUpstreamId(callId),
    type: 'function',
    ...opaque?.call,
    function: { name: tools.nameOf(address), arguments: json, ...opaque?.function },
  };
}
