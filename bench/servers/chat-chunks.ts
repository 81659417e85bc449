import { randomUUID } from 'node:crypto';

import type { PacedAnswer } from './send-paced.ts';

/** The end of a stream of chunks. */
export const CHAT_DONE = 'data: [DONE]\n\n';

/** The chunks of one chat completion as SSE frames. */
export class ChatChunks implements PacedAnswer {
  private readonly beforeDelta: string;
  private readonly afterDelta: string;

  constructor(model: string) {
    const head = { id: `chatcmpl-${randomUUID()}`, object: 'chat.completion.chunk', created: 1_795_219_200, model };
    this.beforeDelta = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`;
    this.afterDelta = '],"usage":null}\n\n';
  }

  /** The first chunk of an answer. */
  open(): readonly string[] {
    return [this.toFrame('{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}')];
  }

  /** A chunk with a delta of text that needs no escapes. */
  delta(text: string): string {
    return this.toFrame(`{"index":0,"delta":{"content":"${text}"},"logprobs":null,"finish_reason":null}`);
  }

  /** The chunks with finish reason and usage, and `[DONE]`. */
  close(outputTokens: number): readonly string[] {
    const usage = { prompt_tokens: 8, completion_tokens: outputTokens, total_tokens: 8 + outputTokens };
    return [
      this.toFrame('{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}'),
      `${this.beforeDelta}],"usage":${JSON.stringify(usage)}}\n\n${CHAT_DONE}`,
    ];
  }

  private toFrame(choice: string): string {
    return this.beforeDelta + choice + this.afterDelta;
  }
}
