import { RecentMap } from '../../recent-map.js';

/** Sessions that are remembered. One that was forgotten begins anew. */
const MOST_SESSIONS = 10_000;

/** Turns whose state is remembered: those that run at the same time. */
const MOST_TURNS = 1000;

/** What the provider knows of a conversation: whether it fell back to HTTP. */
export class Session {
  private fellBackAt: number | null = null;

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
}

/** The sessions of a provider by conversation, and the states of its turns, those used last. */
export class Sessions {
  private readonly sessions = new RecentMap<Session>(MOST_SESSIONS);
  private readonly turnStates = new RecentMap<string>(MOST_TURNS);

  constructor(private readonly healAfterMs: number | null) {}

  /** The session of a conversation, new if it is not known. */
  of(conversation: string): Session {
    const session = this.sessions.get(conversation) ?? new Session(this.healAfterMs);
    this.sessions.set(conversation, session);
    return session;
  }

  /** The state that the upstream gave in the turn of a response; null if it gave none. */
  turnStateOf(responseId: string): string | null {
    return this.turnStates.get(responseId) ?? null;
  }

  /** Keeps the state of a turn; only the first one counts. A later turn never sees it (upstreams §3.1). */
  keepTurnState(responseId: string, state: string): void {
    if (this.turnStates.get(responseId) === undefined) this.turnStates.set(responseId, state);
  }
}
