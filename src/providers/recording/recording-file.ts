import type { WriteStream } from 'node:fs';
import { open } from 'node:fs/promises';

/** The first line of a recording: the settings of its replay. */
const SETTINGS = JSON.stringify({ settings: { match: 'request', timing: 'recorded' } });

/** Read and write for the owner only. */
const FILE_MODE = 0o600;

/** How a recording is opened. */
export interface RecordingOptions {
  /** Refuses a file that exists, with EEXIST; otherwise it is gone on with. */
  readonly isNew: boolean;
  /** Turns that would make it longer are left out. */
  readonly mostBytes: number;
  /** Is told once why nothing more can be written. */
  readonly onError: (error: Error) => void;
}

/** A recording: a script in JSON Lines that grows. */
export class RecordingFile {
  /** The turns that were written into it. */
  turns = 0;
  /** `full`: a turn was left out. */
  status: 'recording' | 'full' | 'failed' = 'recording';

  private constructor(
    private readonly file: WriteStream,
    private bytes: number,
    private readonly mostBytes: number,
  ) {}

  /** Opens it. Throws what the file system says. */
  static async open(path: string, { isNew, mostBytes, onError }: RecordingOptions): Promise<RecordingFile> {
    const handle = await open(path, isNew ? 'ax+' : 'a+', FILE_MODE);
    const { size } = await handle.stat();
    const file = handle.createWriteStream();
    // A killed process may have left an incomplete line.
    if (size > 0 && (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer.toString() !== '\n') file.write('\n');
    const recording = new RecordingFile(file, size, mostBytes);
    file.on('error', (error) => {
      recording.status = 'failed';
      onError(error);
    });
    return recording;
  }

  /** Appends a turn; nothing after `close()`. */
  write(turn: object): void {
    if (this.file.destroyed || this.file.writableEnded) return;
    const lines = `${this.bytes === 0 ? `${SETTINGS}\n` : ''}${JSON.stringify(turn)}\n`;
    const bytes = Buffer.byteLength(lines);
    if (this.bytes + bytes > this.mostBytes) {
      this.status = 'full';
      return;
    }
    this.bytes += bytes;
    this.turns += 1;
    this.file.write(lines);
  }

  /** Resolves when all of it is written, or it is known that it cannot be. */
  async close(): Promise<void> {
    if (this.file.destroyed) return;
    const closed = new Promise<void>((resolve) => this.file.once('close', () => resolve()));
    this.file.end();
    await closed;
  }
}
