import { randomFillSync } from 'node:crypto';

import { v7 } from 'uuid';

/** The kind of an id; the prefix is part of the id on the wire. */
export type IdPrefix = 'resp' | 'msg' | 'rs' | 'fc' | 'fco' | 'ctc' | 'ctco' | 'call' | 'item' | 'req' | (string & {});

/** Generates ids; replaceable, so that tests and recordings have reproducible ids. */
export abstract class IdGenerator {
  /** Returns `<prefix>_<32 hex characters>`, never the same twice. */
  abstract next(prefix: IdPrefix): string;
}

/** Random bytes per UUID. */
const BYTES_PER_ID = 16;

/** Ids per draw of random bytes: a system call costs more than an id. */
const IDS_PER_DRAW = 256;

/** Ids in the order of their creation: the hex digits of a UUIDv7 with a counter (RFC 9562 section 6.2). */
export class UuidIdGenerator extends IdGenerator {
  private readonly pool: Buffer = Buffer.alloc(BYTES_PER_ID * IDS_PER_DRAW);
  private used = this.pool.length;
  private readonly options = { random: this.pool, msecs: 0, seq: 0 };
  private readonly id = Buffer.alloc(BYTES_PER_ID);

  override next(prefix: IdPrefix): string {
    this.options.random = this.draw();
    this.count();
    v7(this.options, this.id);
    return `${prefix}_${this.id.toString('hex')}`;
  }

  /** Starts each millisecond at a random value and counts up within it. */
  private count(): void {
    const { options } = this;
    const now = Date.now();
    if (now > options.msecs) {
      options.msecs = now;
      options.seq = options.random.readUInt32BE() >>> 1;
    } else {
      options.seq += 1;
    }
  }

  private draw(): Buffer {
    if (this.used === this.pool.length) {
      randomFillSync(this.pool);
      this.used = 0;
    }
    this.used += BYTES_PER_ID;
    return this.pool.subarray(this.used - BYTES_PER_ID, this.used);
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
