import type { RequestBody } from './upstream-call.js';

/** A frame that a server would refuse, with the error it would give. */
export class UnknownParent extends Error {
  override readonly name = 'UnknownParent';
}

/** What an upstream remembers: of each response all items up to its end. */
export class ConversationState {
  private readonly contexts = new Map<string, readonly unknown[]>();
  private latest: string | null = null;

  /** `beyond` is asked for what this one does not know, such as stored responses. */
  constructor(private readonly beyond: ConversationState | null = null) {}

  /** The whole context of a request. Throws UnknownParent when it continues what nobody remembers. */
  contextOf(body: RequestBody): readonly unknown[] {
    const input = listInput(body.input);
    const parent = body.type === 'response.append' ? this.latest : (body.previous_response_id ?? null);
    if (parent === null && body.type !== 'response.append') return input;
    const before = parent === null ? undefined : this.find(parent);
    if (before === undefined) throw new UnknownParent(`Previous response with id '${parent}' not found.`);
    return [...before, ...input];
  }

  /** Remembers a response that was answered. */
  add(responseId: string, context: readonly unknown[], output: readonly unknown[]): void {
    this.contexts.set(responseId, [...context, ...output]);
    this.latest = responseId;
  }

  /** Forgets everything. */
  clear(): void {
    this.contexts.clear();
    this.latest = null;
  }

  private find(id: string): readonly unknown[] | undefined {
    return this.contexts.get(id) ?? this.beyond?.find(id);
  }
}

function listInput(input: unknown): readonly unknown[] {
  if (Array.isArray(input)) return input as readonly unknown[];
  return input === undefined ? [] : [{ type: 'message', role: 'user', content: input }];
}
