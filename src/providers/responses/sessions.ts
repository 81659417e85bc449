/** Sessions that are remembered. One that was forgotten begins anew. */
const MOST_SESSIONS = 10_000;

/** Turns of a session whose state is kept: those that run at the same time, with room to spare. */
const MOST_TURNS = 64;

/** What the provider knows of a conversation: whether it fell back to HTTP, and the state of its turns. */
export class Session {
  private fellBackAt: number | null = null;
  private readonly turnStates = new Map<string, string>();

  /** `healAfterMs`: after this time a WebSocket is tried again; null: never. */
  constructor(private readonly healAfterMs: number | null) {}

  /** Whether it uses HTTP only, for good or until it heals. */
  hasFallenBack(now: number): boolean {
    if (this.fellBackAt === null) return false;
    if (this.healAfterMs === null || now - this.fellBackAt < this.healAfterMs) return true;
    this.fellBackAt = null;
    return false;
  }

  /** Switches to HTTP. Returns whether it was this call that did: of several at once, only the first (upstreams §1.2). */
  fallBack(now: number): boolean {
    if (this.hasFallenBack(now)) return false;
    this.fellBackAt = now;
    return true;
  }

  /** The state that the upstream gave in this turn; null if it gave none. */
  turnStateOf(responseId: string): string | null {
    return this.turnStates.get(responseId) ?? null;
  }

  /** Keeps the state of a turn; only the first one counts. A later turn never sees it. */
  keepTurnState(responseId: string, state: string): void {
    if (this.turnStates.has(responseId)) return;
    const [oldest] = this.turnStates.keys();
    if (this.turnStates.size >= MOST_TURNS && oldest !== undefined) this.turnStates.delete(oldest);
    this.turnStates.set(responseId, state);
  }
}

/** The sessions of a provider by conversation, those used last. */
export class Sessions {
  private readonly sessions = new Map<string, Session>();

  constructor(private readonly healAfterMs: number | null) {}

  /** The session of a conversation, new if it is not known. */
  of(conversation: string): Session {
    const session = this.sessions.get(conversation) ?? new Session(this.healAfterMs);
    this.sessions.delete(conversation);
    this.sessions.set(conversation, session);
    const [oldest] = this.sessions.keys();
    if (this.sessions.size > MOST_SESSIONS && oldest !== undefined) this.sessions.delete(oldest);
    return session;
  }
}
