import { hash } from 'node:crypto';

/** The rows of the table: kinds of what is acknowledged, and the processes themselves. */
export const KINDS = ['JSON', 'SSE', 'WebSocket', 'background', 'conversations', 'webhooks', 'service'] as const;
/** A kind of what is acknowledged. */
export type Kind = (typeof KINDS)[number];

/** The violations that are counted, each by kind. */
export const VIOLATIONS = ['lost', 'doubled', 'gaps', 'refused starts', 'leaked places', 'uncounted tokens'] as const;
/** A sort of violation. */
export type Violation = (typeof VIOLATIONS)[number];

/** The kinds whose turns a model of their own answers, so that usage and limits tell them apart. */
export const TURN_KINDS = ['JSON', 'SSE', 'WebSocket', 'background', 'conversations'] as const;
/** A kind that takes turns. */
export type TurnKind = (typeof TURN_KINDS)[number];

/** The model of a kind. */
export function modelOf(kind: TurnKind): string {
  return `chaos-${kind.toLowerCase()}`;
}

/** A response as it was acknowledged. */
export interface KeptResponse {
  readonly kind: TurnKind;
  readonly id: string;
  /** The text that its turn said. */
  readonly said: string;
  readonly status: string;
  readonly digest: string;
  readonly inputTokens: number;
  /** Of input and output. */
  readonly tokens: number;
  /** The digest of its events, where they can be read again. */
  readonly events?: string;
  /** Deleting: a client has asked for its deletion. Deleted: that was acknowledged. */
  fate: 'kept' | 'deleting' | 'deleted';
}

/** A conversation as it was acknowledged. */
export interface KeptConversation {
  readonly id: string;
  /** Its items in order: the text of an input, the id of an output. */
  readonly items: string[];
  /** The ids of items whose deletion was acknowledged. */
  readonly deleted: Set<string>;
}

/** What a violation was found at. */
export interface Finding {
  readonly kind: Kind;
  readonly violation: Violation;
  readonly subject: string;
  readonly detail: string;
  readonly amount: number;
}

/** All that clients were told, and all violations that were found. */
export class Ledger {
  readonly responses = new Map<string, KeptResponse>();
  readonly conversations: KeptConversation[] = [];
  /** Background responses whose creation was acknowledged and whose end was not seen yet. */
  readonly unfinished = new Set<string>();
  /** Turns that were asked for, acknowledged or not. */
  readonly attempts = new Map<TurnKind, number>();
  private readonly counts = new Map<Kind, number>();
  private readonly found = new Map<string, Finding>();
  private total = 0;
  private readonly waiting = new Set<{ readonly total: number; readonly resolve: () => void }>();

  /** What was acknowledged, altogether. */
  get acknowledgements(): number {
    return this.total;
  }

  get findings(): readonly Finding[] {
    return [...this.found.values()];
  }

  /** What was acknowledged of a kind. */
  countOf(kind: Kind): number {
    return this.counts.get(kind) ?? 0;
  }

  /** Counts a turn that is asked for. */
  attempt(kind: TurnKind): void {
    this.attempts.set(kind, (this.attempts.get(kind) ?? 0) + 1);
  }

  /** Counts something that was acknowledged. */
  acknowledge(kind: Kind): void {
    this.counts.set(kind, this.countOf(kind) + 1);
    this.total += 1;
    for (const waiter of this.waiting) {
      if (this.total < waiter.total) continue;
      this.waiting.delete(waiter);
      waiter.resolve();
    }
  }

  /** Keeps a response that was acknowledged, and counts it unless it was counted when it was created. */
  keep(kept: Omit<KeptResponse, 'fate'>): KeptResponse {
    const response: KeptResponse = { ...kept, fate: 'kept' };
    this.responses.set(kept.id, response);
    if (!this.unfinished.delete(kept.id)) this.acknowledge(kept.kind);
    return response;
  }

  /** Resolves when so many more things have been acknowledged. */
  more(count: number): Promise<void> {
    return new Promise((resolve) => this.waiting.add({ total: this.total + count, resolve }));
  }

  /** Notes a violation; the same one of a subject counts once, as it was found last. */
  report(kind: Kind, violation: Violation, subject: string, detail: string, amount = 1): void {
    this.found.set(`${kind} ${violation} ${subject}`, { kind, violation, subject, detail, amount });
  }
}

/** A digest of JSON, which does not depend on the order of members. */
export function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value, sorted), 'base64');
}

/** The digest of a response. The official SDK adds `output_text`, which events do not have. */
export function digestOfResponse(response: object): string {
  return digestOf({ ...response, output_text: undefined });
}

function sorted(_: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
