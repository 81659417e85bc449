/** Slots of the hash table: a power of two, more than twice the tokens of o200k_base. */
const SLOTS = 2 ** 19;

const SPACE = 0x20;
const NEWLINE = 0x0a;
const PADDING = 0x3d;
/** The shortest line has four digits of base64, a space, a digit and a newline. */
const SHORTEST_LINE = 7;

/** The values of base64 digits, by character code. */
const DIGITS = new Uint8Array(128);
Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/').forEach((digit, value) => {
  DIGITS[digit] = value;
});

/** Takes the lines of a vocabulary's file, in order. */
export interface VocabularyReader {
  /** Reads the lines of a piece. Returns the bytes read: what is behind the last newline belongs to the next piece. */
  add(piece: Uint8Array): number;
  end(): Vocabulary;
}

/**
 * The tokens of an encoding and their ranks, in three typed arrays: a map with a string for each token takes ten times
 * the memory, and far longer to build.
 */
export class Vocabulary {
  private constructor(
    /** The bytes of all tokens, one after the other. */
    private readonly bytes: Uint8Array,
    /** Where a token starts, by rank; it ends where the next one starts. */
    private readonly starts: Uint32Array,
    /** Ranks plus one, each in the first free slot from the hash of its token on. Zero is free. */
    private readonly slots: Uint32Array,
  ) {}

  /**
   * Reads a vocabulary from a file of so many bytes, piece by piece. A line has the bytes of a token in base64 and its rank, and ends
   * with a newline; the lines are in the order of ranks.
   */
  static reader(fileSize: number): VocabularyReader {
    const bytes = new Uint8Array(Math.ceil((fileSize * 3) / 4));
    const starts = new Uint32Array(Math.ceil(fileSize / SHORTEST_LINE) + 1);
    const slots = new Uint32Array(SLOTS);
    let rank = 0;
    let end = 0;
    return {
      add(lines): number {
        let at = 0;
        // Loops over single bytes: a call of `indexOf` takes longer than most lines.
        const last = lines.lastIndexOf(NEWLINE);
        while (at <= last) {
          let space = at;
          while (space < last && lines[space] !== SPACE) space += 4;
          const start = end;
          end = decode(lines, at, space, bytes, start);
          at = space + 1;
          while (at <= last && lines[at] !== NEWLINE) at++;
          at++;
          let slot = slotOf(bytes, start, end);
          while (slots[slot] !== 0) slot = nextSlot(slot);
          slots[slot] = ++rank;
          starts[rank] = end;
        }
        return at;
      },
      end: () => new Vocabulary(bytes.subarray(0, end), starts.subarray(0, rank + 1), slots),
    };
  }

  /** Takes what `pack` gave, without a copy: in a twentieth of the time that reading the lines takes. */
  static unpack({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Vocabulary {
    const slots = new Uint32Array(buffer, byteOffset, SLOTS);
    const [count = 0] = new Uint32Array(buffer, slots.byteOffset + slots.byteLength, 1);
    const starts = new Uint32Array(buffer, slots.byteOffset + slots.byteLength + 4, count);
    const first = starts.byteOffset + starts.byteLength;
    return new Vocabulary(new Uint8Array(buffer, first, byteOffset + byteLength - first), starts, slots);
  }

  /** All of it in one piece, in the byte order of this machine. */
  pack(): Uint8Array {
    const parts = [this.slots, Uint32Array.of(this.starts.length), this.starts, this.bytes];
    return Buffer.concat(parts.map((part) => new Uint8Array(part.buffer, part.byteOffset, part.byteLength)));
  }

  /** The rank of the token with the bytes between two indices, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    let slot = slotOf(bytes, start, end);
    for (;;) {
      const rank = (this.slots[slot] ?? 0) - 1;
      if (rank === -1 || this.isToken(rank, bytes, start, end)) return rank;
      slot = nextSlot(slot);
    }
  }

  /** The bytes of a token: not a copy. */
  bytesOf(rank: number): Uint8Array {
    return this.bytes.subarray(this.starts[rank], this.starts[rank + 1]);
  }

  private isToken(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const first = this.starts[rank] ?? 0;
    if ((this.starts[rank + 1] ?? 0) - first !== end - start) return false;
    for (let index = start; index < end; index++) {
      if (this.bytes[first + index - start] !== bytes[index]) return false;
    }
    return true;
  }
}

/** The hash of bytes, FNV-1a, as a slot. Its high bits are the better ones. */
function slotOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ (bytes[index] ?? 0), 0x01000193);
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}

function nextSlot(slot: number): number {
  return (slot + 1) & (SLOTS - 1);
}

/** Decodes the base64 between two indices to an index on. Returns the index behind the last byte. */
function decode(base64: Uint8Array, from: number, to: number, bytes: Uint8Array, start: number): number {
  let end = start;
  for (let at = from; at < to; at += 4) {
    const bits =
      (digitAt(base64, at) << 18) |
      (digitAt(base64, at + 1) << 12) |
      (digitAt(base64, at + 2) << 6) |
      digitAt(base64, at + 3);
    bytes[end++] = bits >> 16;
    bytes[end++] = bits >> 8;
    bytes[end++] = bits;
  }
  if (base64[to - 1] === PADDING) end--;
  if (base64[to - 2] === PADDING) end--;
  return end;
}

function digitAt(base64: Uint8Array, index: number): number {
  return DIGITS[base64[index] ?? 0] ?? 0;
}
