import { randomFillSync } from 'node:crypto';

import { v7 } from 'uuid';

/** Characters of the name of a model: records of usage and metrics keep it. */
export const LONGEST_MODEL = 1024;

/** The kind of an id; the prefix is part of the id on the wire. */
export type IdPrefix = 'resp' | 'msg' | 'rs' | 'fc' | 'fco' | 'ctc' | 'ctco' | 'call' | 'item' | 'req' | (string & {});

/** Generates ids; replaceable, so that tests and recordings have reproducible ids. */
export abstract class IdGenerator {
  /**
   * Returns `<prefix>_<32 hex characters>`, never the same twice. The characters are a UUIDv7, by which ids of this service are told from
   * those of upstreams.
   */
  abstract next(prefix: IdPrefix): string;
}

/** Random bytes per UUID. */
const BYTES_PER_ID = 16;

/** Ids per draw of random bytes: a system call costs more than an id. */
const IDS_PER_DRAW = 256;

/** Ids in the order of their creation: the hex digits of a UUIDv7 with a counter (RFC 9562 section 6.2). */
export class UuidIdGenerator extends IdGenerator {
  private readonly pool: Buffer = Buffer.alloc(BYTES_PER_ID * IDS_PER_DRAW);
  /** The random bytes of each id of a draw, cut once: a new view costs as much as the rest of an id. */
  private readonly parts = Array.from({ length: IDS_PER_DRAW }, (_, id) => this.pool.subarray(id * BYTES_PER_ID));
  private used = IDS_PER_DRAW;
  private readonly options = { random: this.pool, msecs: 0, seq: 0 };
  private readonly id = Buffer.alloc(BYTES_PER_ID);

  /** `now`: milliseconds since the Unix epoch. */
  constructor(private readonly now: () => number = Date.now) {
    super();
  }

  override next(prefix: IdPrefix): string {
    this.options.random = this.draw();
    this.count();
    v7(this.options, this.id);
    return `${prefix}_${this.id.toString('hex')}`;
  }

  /** Starts each millisecond at a random value and counts up within it. */
  private count(): void {
    const { options } = this;
    const now = this.now();
    if (now > options.msecs) {
      options.msecs = now;
      options.seq = options.random.readUInt32BE() >>> 1;
    } else {
      options.seq += 1;
    }
  }

  private draw(): Buffer {
    if (this.used === IDS_PER_DRAW) {
      randomFillSync(this.pool);
      this.used = 0;
    }
    return this.parts[this.used++] as Buffer;
  }
}

const ITEM_PREFIXES: ReadonlyMap<string, IdPrefix> = new Map(
  Object.entries({
    message: 'msg',
    reasoning: 'rs',
    function_call: 'fc',
    function_call_output: 'fco',
    custom_tool_call: 'ctc',
    custom_tool_call_output: 'ctco',
    web_search_call: 'ws',
    file_search_call: 'fs',
    code_interpreter_call: 'ci',
    image_generation_call: 'ig',
    computer_call: 'cu',
    local_shell_call: 'lsh',
    shell_call: 'sh',
    apply_patch_call: 'apc',
    mcp_call: 'mcp',
    mcp_list_tools: 'mcpl',
    mcp_approval_request: 'mcpr',
    tool_search_call: 'tsc',
    compaction: 'cmp',
  }),
);

/** The id prefix of an item type; `item` for unknown types. */
export function itemIdPrefix(type: string): IdPrefix {
  return ITEM_PREFIXES.get(type) ?? 'item';
}

/** The longest id that OpenAI accepts for an item. */
const LONGEST_ITEM_ID = 64;

/** An id that an upstream will not give to another item. */
const UNIQUE_ID = /^[A-Za-z][A-Za-z0-9]*_[\w-]{16,}$/;

/** An id that this service made, with the upstream's own one behind it if there is one. Others make theirs of a UUIDv4, such as vLLM. */
const OWN_ID = /^[a-z]+_(?<time>[0-9a-f]{12})7[0-9a-f]{3}[89ab][0-9a-f]{15}(?:_(?<upstream>.+))?$/;

/** When this service made an id, milliseconds since the epoch; undefined for other ids. */
export function creationTimeOf(id: string): number | undefined {
  const time = OWN_ID.exec(id)?.groups?.['time'];
  return time === undefined ? undefined : Number.parseInt(time, 16);
}

/** The id of a request of this service for an approval: when it was asked for, a random part, and a code that binds it to its call. */
const APPROVAL_ID = /^mcpr_(?<time>[0-9a-f]{12})[0-9a-f]{40}$/;

/** When this service asked for an approval, milliseconds since the epoch; undefined for a request that others have made. */
export function approvalTimeOf(id: string): number | undefined {
  const time = APPROVAL_ID.exec(id)?.groups?.['time'];
  return time === undefined ? undefined : Number.parseInt(time, 16);
}

/** Ids that need no escaping in JSON and in paths. */
const PLAIN_ID = /^[\w.:-]+$/;

/**
 * The id under which clients know an upstream's item: the upstream's own if it has the form of a unique one; a short one
 * such as `msg_1` with a unique prefix; a new id if that would be too long or the upstream gave none.
 */
export function toClientItemId(upstreamId: unknown, type: string, ids: IdGenerator): string {
  if (typeof upstreamId === 'string' && upstreamId.length <= LONGEST_ITEM_ID && UNIQUE_ID.test(upstreamId)) {
    // What would be read as another id when it comes back cannot stay as it is.
    if (OWN_ID.exec(upstreamId)?.groups?.['upstream'] === undefined) return upstreamId;
  }
  return renameItemId(upstreamId, type, ids);
}

/** A new id for an upstream's item whose own is taken or not unique; names the upstream's as long as there is room. */
export function renameItemId(upstreamId: unknown, type: string, ids: IdGenerator): string {
  const id = ids.next(itemIdPrefix(type));
  if (typeof upstreamId !== 'string' || !PLAIN_ID.test(upstreamId)) return id;
  const both = `${id}_${upstreamId}`;
  return both.length <= LONGEST_ITEM_ID ? both : id;
}

/** The upstream's id of an item, by the one that clients know; undefined for an id that this service made. */
export function toUpstreamItemId(id: string): string | undefined {
  const own = OWN_ID.exec(id);
  return own === null ? id : own.groups?.['upstream'];
}
