import type { Tenant } from '../../access/index.js';
import type { DeletionNotices } from '../notices.js';
import { type ForkOutcome, type ForkRequest, SessionStore } from '../session-store.js';
import type { MemoryState } from './state.js';
import { isShared, type Node, sessionsOf } from './node.js';

/** Sessions of responses in memory. */
export class MemorySessionStore extends SessionStore {
  constructor(
    private readonly state: MemoryState,
    private readonly notices: DeletionNotices,
  ) {
    super();
  }

  override async fork(
    tenant: Tenant,
    { sourceId, targetId, upToResponseId, limit, forkLimit }: ForkRequest,
  ): Promise<ForkOutcome> {
    const members = this.membersOf(tenant, sourceId);
    if (members.length === 0) return { refused: 'source_not_found' };
    const end =
      upToResponseId === undefined ? members.length : members.findIndex(({ id }) => id === upToResponseId) + 1;
    if (end === 0) return { refused: 'response_not_found' };
    if (this.membersOf(tenant, targetId).length > 0) return { refused: 'target_exists' };
    if (end > (limit ?? Infinity)) return { refused: 'too_many_responses' };
    if (members.slice(0, 1).some((first) => forksOf(first) >= (forkLimit ?? Infinity))) {
      return { refused: 'too_many_forks' };
    }
    for (const node of members.slice(0, end)) this.state.join(node, targetId);
    this.state.dropUntilItFits();
    return { responses: end };
  }

  override async delete(tenant: Tenant, sessionId: string): Promise<boolean> {
    const members = this.membersOf(tenant, sessionId);
    const [own, shared] = [members.filter((node) => !isShared(node)), members.filter(isShared)];
    for (const node of shared) this.state.leave(node, sessionId);
    this.state.delete(own);
    // The remaining responses now belong to other sessions; cached copies are outdated.
    this.notices.announce(members.map(({ id }) => id));
    return members.length > 0;
  }

  override async hasAtLeast(tenant: Tenant, sessionId: string, responses: number): Promise<boolean> {
    return this.state.countInSession(tenant, sessionId, responses) >= responses;
  }

  private membersOf(tenant: Tenant, sessionId: string): readonly Node[] {
    return [...this.state.ofSession(tenant, sessionId)].filter((node) => this.state.shows(node));
  }
}

function forksOf(node: Node): number {
  return [...sessionsOf(node)].filter((name) => name !== node.sessionId).length;
}
