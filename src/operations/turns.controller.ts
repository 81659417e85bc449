import { Controller, Get, Headers, Param, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller, type Tenant } from '../access/index.js';
import { Describe } from '../http/api-description/index.js';
import { apiPath } from '../http/index.js';
import { ApiError } from '../protocol/index.js';
import { readSessionId } from '../resources/sessions/index.js';
import { Siblings, type SiblingTopic } from './siblings/index.js';
import { ResponseStore } from '../state/index.js';
import { RecentTurns, type TurnBody } from './recent-turns.js';

/** Whose turn is meant. */
interface Meant {
  readonly tenant: Tenant;
  readonly id: string;
}

/** `GET /responses/{id}/turn`: how a turn has run (docs/operations.md#one-turn). */
@Controller(apiPath('responses'))
@UseGuards(ApiKeyGuard)
export class TurnsController {
  private readonly others: SiblingTopic<Meant, TurnBody | null>;

  constructor(
    private readonly turns: RecentTurns,
    private readonly responses: ResponseStore,
    siblings: Siblings,
  ) {
    this.others = siblings.topic('turn', ({ tenant, id }) => this.turns.find(tenant, id) ?? null);
  }

  @Describe(() => ({
    id: 'getTurn',
    group: 'Usage',
    summary: 'Shows how the turn of a response has run: requests to upstreams, calls of tools, cost, trace.',
    description:
      'The instance that ran it remembers its latest turns, stored or not, until it ends. Another one does not find it. Nothing of what was said is shown.',
    headers: ['x-session-id'],
    answer: 'Turn',
    missing: ['Turn of the response', 'Response'],
  }))
  @Get(':id/turn')
  async show(
    @Param('id') id: string,
    @Headers() headers: Readonly<Record<string, unknown>>,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<TurnBody> {
    const within = readSessionId(headers);
    if (within !== undefined && (await this.responses.get(tenant, id, within)) === undefined) {
      throw ApiError.notFound('Response', id);
    }
    const own = this.turns.find(tenant, id);
    if (own?.status === 'in_progress') return own;
    // A background turn may have gone on in another worker.
    const { replies, silent } = await this.others.ask({ tenant, id });
    const found = [...(own === undefined ? [] : [own]), ...replies.filter((reply) => reply !== null)];
    const last = found.toSorted((one, other) => (one.started_at ?? 0) - (other.started_at ?? 0)).at(-1);
    if (last === undefined) throw silent === 0 ? ApiError.notFound('Turn of the response', id) : unanswered();
    return found.find(({ status }) => status === 'in_progress') ?? last;
  }
}

function unanswered(): ApiError {
  const message = 'A process of this instance, which may have run the turn, did not answer. Please retry shortly.';
  return ApiError.of('service_unavailable', message, { headers: { 'retry-after': '1' } });
}
