import { randomUUID } from 'node:crypto';

/** What ends a stream of chunks. */
export const CHAT_DONE = 'data: [DONE]\n\n';

/** The chunks of one chat completion as SSE frames. */
export class ChatChunks {
  private readonly beforeDelta: string;
  private readonly afterDelta: string;

  constructor(model: string) {
    const head = { id: `chatcmpl-${randomUUID()}`, object: 'chat.completion.chunk', created: 1_795_219_200, model };
    this.beforeDelta = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`;
    this.afterDelta = '],"usage":null}\n\n';
  }

  /** The chunk that opens the answer. */
  open(): string {
    return this.toFrame('{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}');
  }

  /** A chunk with a piece of text, which needs no escapes: an upstream should cost as little as it can. */
  delta(text: string): string {
    return this.toFrame(`{"index":0,"delta":{"content":"${text}"},"logprobs":null,"finish_reason":null}`);
  }

  /** The chunk that says why the answer ends, the one that counts tokens, and the end. */
  close(outputTokens: number): string {
    const usage = { prompt_tokens: 8, completion_tokens: outputTokens, total_tokens: 8 + outputTokens };
    return (
      this.toFrame('{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}') +
      `${this.beforeDelta}],"usage":${JSON.stringify(usage)}}\n\n${CHAT_DONE}`
    );
  }

  private toFrame(choice: string): string {
    return this.beforeDelta + choice + this.afterDelta;
  }
}
