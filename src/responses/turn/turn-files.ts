import type { Environment } from '../../config/index.js';
import type { FileShare } from '../../files/index.js';
import type { Item } from '../../protocol/index.js';

/** A part of an item. */
export type Part = Readonly<Record<string, unknown>>;

/** The bounds of the files of a turn. */
export type FileBounds = Pick<Environment, 'FILE_INPUT_MAX_BYTES' | 'FILE_INPUT_MAX_CHARACTERS'>;

/** What a file becomes. */
export interface MadeFile {
  readonly parts: readonly Part[];
  /** Characters that were read out of it, and of the images of its pages; 0 for one that is handed on as it is. */
  readonly characters: number;
}

/** A file that was read, with its size. */
interface KnownFile extends MadeFile {
  readonly bytes: number;
}

/** A file cannot be given to the model. The message says which one, and why. */
export class UnusableFileError extends Error {
  override readonly name = 'UnusableFileError';

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}

/** The files of a turn have more than they may have together. */
export class FileBoundError extends Error {
  override readonly name = 'FileBoundError';
}

/**
 * What a turn has made of its files. Each file is read once, and counts for each part that names it: models are given it as often. Its share of
 * the budget of the process is released at the end of the turn.
 */
export class TurnFiles {
  /** Items with files, as the model sees them. */
  readonly items = new Map<Item, Item>();
  /** Time that was spent on URLs, ms. */
  fetchMs = 0;
  /** What files became; null for those that stay as they are. */
  private readonly known = new Map<string, KnownFile | UnusableFileError | null>();
  private bytes = 0;
  private characters = 0;
  /** Bytes of the file that is being read. */
  private arrived = 0;

  constructor(
    private readonly bounds: FileBounds,
    private readonly share: FileShare,
  ) {}

  /**
   * The parts that a file becomes, null where `make` says so; `key` tells it from others. Throws FileBoundError, ApiError 503 when the process
   * has no room, and as `make` does.
   */
  async once(key: string, make: () => Promise<MadeFile | null>): Promise<readonly Part[] | null> {
    const known = this.known.get(key);
    if (known instanceof UnusableFileError) throw known;
    if (known === null) return null;
    if (known !== undefined) {
      this.countBytes(known.bytes);
      return this.keep(known);
    }
    try {
      const made = await make();
      const kept = made && { ...made, bytes: this.arrived };
      this.known.set(key, kept);
      return kept && this.keep(kept);
    } catch (error) {
      if (error instanceof UnusableFileError) this.known.set(key, error);
      throw error;
    } finally {
      this.share.giveBack(this.arrived);
      this.arrived = 0;
    }
  }

  /** Bytes of a file are about to be read. Throws FileBoundError, and ApiError 503. */
  arrive(bytes: number): void {
    this.countBytes(bytes);
    this.share.take(bytes);
    this.arrived += bytes;
  }

  /** Frees what the turn holds. */
  release(): void {
    this.share.release();
  }

  private countBytes(bytes: number): void {
    const { FILE_INPUT_MAX_BYTES: most } = this.bounds;
    this.bytes += bytes;
    if (this.bytes > most) throw new FileBoundError(`have more than ${most} bytes together (FILE_INPUT_MAX_BYTES)`);
  }

  private keep({ parts, characters }: MadeFile): readonly Part[] {
    const { FILE_INPUT_MAX_CHARACTERS: most } = this.bounds;
    this.characters += characters;
    if (this.characters > most) {
      throw new FileBoundError(`become more than ${most} characters together (FILE_INPUT_MAX_CHARACTERS)`);
    }
    this.share.take(parts.reduce((sum, part) => sum + sizeOf(part), 0));
    return parts;
  }
}

/** Bytes that a part takes: a text may need two for a character. */
function sizeOf({ text, image_url: image, file_data: data }: Part): number {
  return 2 * lengthOf(text) + lengthOf(image) + lengthOf(data);
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}
