import type { Owner } from '../../access/index.js';
import type { Environment } from '../../config/index.js';
import { estimateBytes, type Item, type ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { paginate } from '../paginate.js';
import {
  type Chain,
  type Page,
  type PageRequest,
  type ResponseRecord,
  ResponseStore,
  StoreUnavailableError,
} from '../response-store.js';

/** A response in memory. Children point at their parent, so a chain shares every item it has in common with others. */
interface Node {
  readonly key: string;
  readonly owner: Owner;
  readonly response: ResponseObject;
  readonly input: readonly Item[];
  readonly origin: ResponseRecord['origin'];
  readonly parent: Node | null;
  /** What came before where the parent is not there any more; else empty. */
  readonly inherited: readonly Item[];
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Descendants that still need this node's items. */
  children: number;
  /** False once deleted, expired or evicted: a tombstone, only there for its descendants. */
  alive: boolean;
}

/**
 * Keeps responses in this process, bounded by count, bytes and age. When it is full the oldest go first; what a living
 * conversation needs of them stays until the conversation goes.
 */
export class MemoryResponseStore extends ResponseStore {
  /** By owner and id, in the order of creation, which is also the order of expiry. */
  private readonly nodes = new Map<string, Node>();
  /** The node that holds an item, by owner and item id. */
  private readonly holders = new Map<string, Node>();
  private bytes = 0;

  constructor(
    private readonly clock: Clock,
    private readonly limits: Pick<Environment, 'MEMORY_MAX_BYTES' | 'MEMORY_MAX_RESPONSES' | 'RESPONSE_TTL'>,
  ) {
    super();
  }

  override async save(owner: Owner, record: ResponseRecord): Promise<void> {
    const { response, input, origin, parentId } = record;
    const { MEMORY_MAX_BYTES, MEMORY_MAX_RESPONSES, RESPONSE_TTL } = this.limits;
    const parent = parentId === null ? null : (this.find(owner, parentId) ?? null);
    const inherited = parent === null ? record.inherited : [];
    const bytes = estimateBytes([response, input, inherited]);
    if (bytes > MEMORY_MAX_BYTES) {
      throw new StoreUnavailableError(`a response of ${bytes} bytes does not fit in MEMORY_MAX_BYTES`);
    }
    const key = keyOf(owner, response.id);
    const expiresAt = this.clock.now() + RESPONSE_TTL * 1000;
    const node: Node = {
      key,
      owner,
      response,
      input,
      origin,
      parent,
      inherited,
      bytes,
      expiresAt,
      children: 0,
      alive: true,
    };
    if (parent !== null) parent.children += 1;
    this.nodes.set(key, node);
    for (const item of itemsOf(node)) this.holders.set(keyOf(owner, item.id), node);
    this.bytes += bytes;
    this.dropExpired();
    while (this.nodes.size > MEMORY_MAX_RESPONSES || this.bytes > MEMORY_MAX_BYTES) this.dropOldest();
  }

  override async get(owner: Owner, responseId: string): Promise<ResponseObject | undefined> {
    return this.find(owner, responseId)?.response;
  }

  override async delete(owner: Owner, responseId: string): Promise<boolean> {
    const node = this.find(owner, responseId);
    if (node !== undefined) this.drop(node);
    return node !== undefined;
  }

  override async chain(owner: Owner, responseId: string): Promise<Chain | undefined> {
    const node = this.find(owner, responseId);
    const status = node?.response.status;
    if (node === undefined || (status !== 'completed' && status !== 'incomplete')) return undefined;
    const path: Node[] = [];
    for (let current: Node | null = node; current !== null; current = current.parent) path.push(current);
    const items = path
      .reverse()
      .flatMap(({ inherited, input, response }) => [...inherited, ...input, ...response.output]);
    return { responseId, items, origin: node.origin };
  }

  override async inputItems(owner: Owner, responseId: string, page: PageRequest): Promise<Page<Item> | undefined> {
    const node = this.find(owner, responseId);
    return node === undefined ? undefined : paginate(node.input, page);
  }

  override async items(owner: Owner, ids: readonly string[]): Promise<ReadonlyMap<string, Item>> {
    this.dropExpired();
    const found = new Map<string, Item>();
    for (const id of ids) {
      const holder = this.holders.get(keyOf(owner, id));
      const item = holder === undefined ? undefined : itemsOf(holder).find((candidate) => candidate.id === id);
      if (item !== undefined) found.set(id, item);
    }
    return found;
  }

  override async check(): Promise<void> {
    // Memory is always there.
  }

  private find(owner: Owner, responseId: string): Node | undefined {
    const node = this.nodes.get(keyOf(owner, responseId));
    if (node !== undefined && node.expiresAt <= this.clock.now()) {
      this.drop(node);
      return undefined;
    }
    return node;
  }

  /** Every response lives equally long, so those that expired are the first. */
  private dropExpired(): void {
    const now = this.clock.now();
    for (const node of this.nodes.values()) {
      if (node.expiresAt > now) return;
      this.drop(node);
    }
  }

  private dropOldest(): void {
    for (const node of this.nodes.values()) {
      this.drop(node);
      return;
    }
  }

  /** Takes a node out of reach, and frees it and the ancestors that nobody needs any more. */
  private drop(node: Node): void {
    this.nodes.delete(node.key);
    for (const item of itemsOf(node)) {
      const key = keyOf(node.owner, item.id);
      if (this.holders.get(key) === node) this.holders.delete(key);
    }
    node.alive = false;
    let current: Node | null = node;
    while (current !== null && !current.alive && current.children === 0) {
      this.bytes -= current.bytes;
      current = current.parent;
      if (current !== null) current.children -= 1;
    }
  }
}

function itemsOf({ input, response }: Node): readonly Item[] {
  return [...input, ...response.output];
}

/** The length keeps apart what a separator would not: ids in requests may hold any character. */
function keyOf(owner: Owner, responseId: string): string {
  return `${owner.length}:${owner}:${responseId}`;
}
