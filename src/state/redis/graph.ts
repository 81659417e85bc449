import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { isObject, parseJson } from '../../json.js';
import { type Bookmark, wasListed } from '../bookmark.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import { toKey, toLabels } from '../keys.js';
import { cursorOf, isForward, type Page, PAGE_BYTES, type PageRequest } from '../page.js';
import { GRAPH_MAX_RESPONSES, type ResponseFilter, ResponseGraph, type TreeBounds } from '../response-graph.js';
import { readablePage } from '../readable-page.js';
import { readResponse, type StoredResponse, toTree } from '../stored-response.js';
import { type RedisKeys, sessionOf, withinOf } from './keys.js';
import { type List, type Listed, type ListedResponses, toTexts } from './listed-responses.js';
import type { ResponseSlots } from './response-slots.js';
import type { Redis } from './redis.js';
import { type BookmarkText, FIND_GONE, type GoneFound } from './scripts/bookmarks.js';
import { LEAVES, type LeavesReply, TREE, type TreeReply } from './scripts/graph.js';

type ResponsePage = Page<ResponseObject>;
type StoredPage = Page<StoredResponse>;

/** A response that was deleted or has expired, as it is remembered where it lay. */
interface GoneResponse extends Bookmark {
  /** Whether it continued the response that was asked about, or what continued that. */
  readonly isBelow: boolean;
}

/** Whether a list had a response that is gone. */
type Had = (gone: Bookmark) => boolean;

/** A leaf; where it stands among the others. */
interface Leaf extends Listed {
  /** Unix seconds. */
  readonly createdAt: number;
}

/**
 * Lists and trees of responses in Redis. A list is read from its index, then its responses where they lie: few round trips,
 * more when a filter matches seldom. Trees and leaves are one script.
 */
export class RedisResponseGraph extends ResponseGraph {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly slots: ResponseSlots,
    private readonly responses: ListedResponses,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<ResponsePage> {
    const { sessionId, model, statuses, metadata, createdFrom, createdBefore } = filter;
    const labels = toLabels(tenant, metadata ?? {});
    const index = sessionId === undefined ? this.keys.responsesOf(tenant) : this.keys.slot(tenant, sessionId).members;
    const criteria = {
      within: withinOf(sessionId),
      model: model === undefined ? undefined : toKey(model),
      statuses,
      labels,
    };
    const list = { index, criteria, createdFrom, createdBefore };
    return this.page(tenant, list, page, (gone) => wasListed(gone, filter, labels));
  }

  override async children(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const node = await this.find(tenant, toKey(responseId), within);
    if (node === undefined) return undefined;
    return this.page(tenant, this.childrenOf(tenant, node, within), page, wasChild(node.responseKey, within));
  }

  override async siblings(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const node = await this.find(tenant, toKey(responseId), within);
    if (node === undefined) return undefined;
    const key = this.keys.response({ tenant, ...node });
    const [parentKey] = await this.redis.read(['HGET', key, 'parent']);
    const parent = typeof parentKey === 'string' ? await this.find(tenant, parentKey, within, node.slot) : undefined;
    const had = wasChild(parentKey, within);
    if (parent !== undefined) {
      return this.page(tenant, this.childrenOf(tenant, parent, within), page, had, node.responseKey);
    }
    if (page.after !== undefined || page.before !== undefined) await this.findGone(tenant, page, had);
    return { data: [], hasMore: false };
  }

  override leaves(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const ask = (asked: PageRequest): Promise<StoredPage | undefined> =>
      this.leafRows(tenant, responseId, asked, within);
    return readablePage(tenant, page, ask, readResponse);
  }

  private async leafRows(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within: string | undefined,
  ): Promise<StoredPage | undefined> {
    const found = await this.slots.locate(tenant, responseId);
    if (found === undefined) return undefined;
    const reply = (await this.slots.ask(tenant, responseId, LEAVES, withinOf(within))) as LeavesReply | undefined;
    if (reply == null) return undefined;
    if (reply === 'too large') throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    const leaves = toLeaves(reply, found.slot);
    if (!isForward(page)) leaves.reverse();
    const responseKey = cursorOf(page);
    if (responseKey === undefined) return this.show(tenant, leaves, page, withinOf(within));
    const position = leaves.findIndex((leaf) => leaf.responseKey === responseKey);
    if (position >= 0) return this.show(tenant, leaves.slice(position + 1), page, withinOf(within));
    const had = wasIn(within);
    const { createdAt } = await this.findGone(tenant, page, (gone) => gone.isBelow && had(gone), toKey(responseId));
    const isBehind = (leaf: Leaf): boolean => isBefore({ createdAt, responseKey }, leaf) === isForward(page);
    return this.show(tenant, leaves.filter(isBehind), page, withinOf(within));
  }

  override async tree(tenant: Tenant, responseId: string, { depth, limit }: TreeBounds, within?: string) {
    const args = [withinOf(within), depth, limit];
    const reply = (await this.slots.ask(tenant, responseId, TREE, ...args)) as TreeReply | undefined;
    if (reply == null) return undefined;
    if (reply === 'too large') throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    return toTree(
      tenant,
      reply.map(([key, parent, hasMore, ...texts]) => ({
        ...toTexts(key, texts),
        ...{ key, parent, children: hasMore === 1 ? Infinity : 0 },
      })),
    );
  }

  /** A visible response. `slot`: its own, if it is known. */
  private async find(
    tenant: Tenant,
    responseKey: string,
    within: string | undefined,
    slot?: string,
  ): Promise<Listed | undefined> {
    const { matching } = await this.responses.match(tenant, [responseKey], { within: withinOf(within) }, slot);
    return matching[0];
  }

  private childrenOf(tenant: Tenant, { responseKey, slot }: Listed, within: string | undefined): List {
    const index = this.keys.slot(tenant, slot).children(responseKey);
    return { index, criteria: { within: withinOf(within) }, slot };
  }

  /** What the cursor of a page names, if it is gone and the list had it. Throws UnknownCursorError. */
  private async findGone(
    tenant: Tenant,
    page: PageRequest,
    had: (gone: GoneResponse) => boolean,
    ancestor = '',
  ): Promise<GoneResponse> {
    const id = page.after ?? page.before ?? '';
    const found = (await this.slots.ask(tenant, id, FIND_GONE, ancestor)) as GoneFound | undefined;
    const gone = found == null ? undefined : toGone(found, this.clock.now());
    if (gone === undefined || !had(gone)) throw new UnknownCursorError(page);
    return gone;
  }

  /** One page of a list without one of its responses. Throws UnknownCursorError. */
  private page(tenant: Tenant, list: List, page: PageRequest, had: Had, except?: string): Promise<ResponsePage> {
    return readablePage(tenant, page, (asked) => this.rows(tenant, list, asked, had, except), readResponse);
  }

  private async rows(tenant: Tenant, list: List, page: PageRequest, had: Had, except?: string): Promise<StoredPage> {
    const cursor = cursorOf(page);
    let goneFrom: number | undefined;
    if (cursor !== undefined) {
      const [known] = await this.responses.confirm(tenant, list, [cursor]);
      if (known === undefined) goneFrom = (await this.findGone(tenant, page, had)).createdAt;
      else if (known.responseKey === except) throw new UnknownCursorError(page);
    }
    const candidates: Listed[] = [];
    // One candidate more tells whether there is another page, and a second one replaces `except`.
    for await (const batch of this.responses.walk(tenant, list, page, page.limit + 2, goneFrom)) {
      candidates.push(...batch.filter(({ responseKey }) => responseKey !== except));
      if (candidates.length > page.limit) break;
    }
    return this.show(tenant, candidates, page, list.criteria.within);
  }

  /** The first of the candidates, bounded in number and size before they are read. */
  private async show(
    tenant: Tenant,
    candidates: readonly Listed[],
    { limit, before }: PageRequest,
    within: string,
  ): Promise<StoredPage> {
    let [bytes, count] = [0, 0];
    for (const { size } of candidates.slice(0, limit)) {
      bytes += size;
      if (count > 0 && bytes > PAGE_BYTES) break;
      count += 1;
    }
    const shown = candidates.slice(0, count);
    const data = await this.responses.read(tenant, before === undefined ? shown : shown.reverse(), within);
    return { data, hasMore: candidates.length > count };
  }
}

/** What is remembered of a response that went BOOKMARK_MS ago at most. */
function toGone([text, isBelow]: NonNullable<GoneFound>, now: number): GoneResponse | undefined {
  const gone = parseJson(text);
  // A damaged one is as good as none: the cursor is unknown.
  if (!isObject(gone) || typeof gone['memberships'] !== 'string') return undefined;
  const { created, parent, model, status, labels, memberships, until } = gone as unknown as BookmarkText;
  if (Number(until) <= now) return undefined;
  return {
    createdAt: Number(created),
    parentKey: parent === false ? null : parent,
    model,
    status,
    labels: labels === false ? [] : labels.split(' '),
    sessions: memberships.split('\n').map((field) => toKey(sessionOf(field))),
    isBelow: isBelow === 1,
  };
}

/** What belonged to the session of a look-up. */
function wasIn(within: string | undefined): Had {
  const filter = within === undefined ? {} : { sessionId: within };
  return (gone) => wasListed(gone, filter);
}

/** What belonged to it and continued a response. */
function wasChild(parentKey: unknown, within: string | undefined): Had {
  const had = wasIn(within);
  return (gone) => gone.parentKey !== null && gone.parentKey === parentKey && had(gone);
}

/** By creation, then by id. */
function isBefore(one: Pick<Leaf, 'createdAt' | 'responseKey'>, other: Leaf): boolean {
  return one.createdAt === other.createdAt ? one.responseKey < other.responseKey : one.createdAt < other.createdAt;
}

/** In their order. */
function toLeaves(reply: readonly string[], slot: string): Leaf[] {
  return Array.from({ length: reply.length / 3 }, (_, index) => ({
    responseKey: reply[3 * index] ?? '',
    slot,
    createdAt: Number(reply[3 * index + 1]),
    size: Number(reply[3 * index + 2]),
  })).sort((one, other) => (isBefore(one, other) ? -1 : 1));
}
