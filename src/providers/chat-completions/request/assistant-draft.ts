import type { Capabilities } from '../capabilities.js';
import type { HistoryCall, ToolTable } from '../tools/index.js';
import type { ChatMessage, ChatPart, ChatToolCall } from './chat-message.js';
import { toContent } from './chat-message.js';

/** Collects the reasoning, text and calls of one answer into an assistant message. */
export class AssistantDraft {
  readonly calls: HistoryCall[] = [];
  private readonly parts: ChatPart[] = [];
  private readonly reasoning: string[] = [];

  /** Whether there are calls. Reasoning and text precede them, so later ones belong to the next answer. */
  get hasCalls(): boolean {
    return this.calls.length > 0;
  }

  /** Whether there is more than reasoning. */
  get hasWords(): boolean {
    return this.hasCalls || this.parts.length > 0;
  }

  get isEmpty(): boolean {
    return !this.hasCalls && this.parts.length === 0 && this.reasoning.length === 0;
  }

  say(parts: readonly ChatPart[]): void {
    for (const part of parts) this.parts.push(part);
  }

  think(text: string): void {
    this.reasoning.push(text);
  }

  /** The message, with reasoning in the member that the upstream reads. */
  toMessage(
    tools: ToolTable,
    toUpstreamId: (callId: string) => string,
    { reasoningReplay, reasoningOnCalls }: Capabilities,
  ): ChatMessage {
    const calls = this.calls.map((call) => toToolCall(call, tools, toUpstreamId));
    const isDemanded = reasoningOnCalls && reasoningReplay !== 'none' && calls.length > 0;
    const hasReasoning = this.reasoning.length > 0 || isDemanded;
    return {
      role: 'assistant',
      content: this.parts.length === 0 ? (calls.length === 0 ? '' : null) : toContent(this.parts),
      ...(hasReasoning ? { [reasoningReplay]: this.reasoning.join('\n') } : {}),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
  }
}

function toToolCall(call: HistoryCall, tools: ToolTable, toUpstreamId: (callId: string) => string): ChatToolCall {
  const { callId, address } = call;
  return {
    id: toUpstreamId(callId),
    type: 'function',
    function: { name: tools.nameOf(address), arguments: call.arguments },
  };
}
