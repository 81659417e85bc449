import type { Owner } from '../../access/index.js';
import type { DeletionNotices } from '../deletion-notices.js';
import { type ForkOutcome, type ForkRequest, SessionStore } from '../session-store.js';
import type { MemoryState } from './memory-state.js';
import type { Node } from './node.js';

/** The sessions of what this process keeps. */
export class MemorySessionStore extends SessionStore {
  constructor(
    private readonly state: MemoryState,
    private readonly notices: DeletionNotices,
  ) {
    super();
  }

  override async fork(owner: Owner, { sourceId, targetId, upToResponseId, limit }: ForkRequest): Promise<ForkOutcome> {
    const members = this.membersOf(owner, sourceId);
    if (members.length === 0) return { refused: 'source_not_found' };
    const end =
      upToResponseId === undefined ? members.length : members.findIndex(({ id }) => id === upToResponseId) + 1;
    if (end === 0) return { refused: 'response_not_found' };
    if (this.membersOf(owner, targetId).length > 0) return { refused: 'target_exists' };
    if (end > (limit ?? Infinity)) return { refused: 'too_many_responses' };
    for (const node of members.slice(0, end)) this.state.join(node, targetId);
    return { responses: end };
  }

  override async delete(owner: Owner, sessionId: string): Promise<boolean> {
    const members = this.membersOf(owner, sessionId);
    for (const node of members) this.state.leave(node, sessionId);
    this.state.delete(members.filter(({ sessions }) => sessions?.size === 0));
    // What lives on belongs to another session now, which connections do not know.
    this.notices.announce(members.map(({ id }) => id));
    return members.length > 0;
  }

  override async hasAtLeast(owner: Owner, sessionId: string, responses: number): Promise<boolean> {
    return this.membersOf(owner, sessionId).length >= responses;
  }

  private membersOf(owner: Owner, sessionId: string): readonly Node[] {
    return [...this.state.ofSession(owner, sessionId)].filter((node) => this.state.shows(node));
  }
}
