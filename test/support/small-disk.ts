import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Where processes of the namespace find it. */
export const MOUNTED = '/mnt';

/** A file system in memory that is full soon. It lives in a mount namespace of its own, and needs no rights but to make one. */
export class SmallDisk implements AsyncDisposable {
  private constructor(
    private readonly holder: ReturnType<typeof hold>,
    /** The directory of the disk, as tests find it. */
    readonly path: string,
    /** Runs a process that finds the disk at `MOUNTED`. */
    readonly wrapper: readonly string[],
  ) {}

  /** Throws if this machine lets nobody mount, as some containers do. */
  static async mount(mebibytes: number): Promise<SmallDisk> {
    const holder = hold(mebibytes);
    let complaint = '';
    holder.stderr.on('data', (text: Buffer) => (complaint += text.toString()));
    const [told] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'close')])) as [unknown];
    if (!Buffer.isBuffer(told)) throw new Error(`no file system can be mounted here: ${complaint.trim()}`);
    const pid = String(holder.pid);
    const wrapper = ['nsenter', '--target', pid, '--user', '--mount', '--preserve-credentials'];
    return new SmallDisk(holder, `/proc/${pid}/root${MOUNTED}`, wrapper);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.holder, 'exit');
    this.holder.stdin.end();
    await exited;
  }
}

/** A process that keeps the namespace until its input ends. */
function hold(mebibytes: number) {
  const script = `mount -t tmpfs -o size=${mebibytes}m tmpfs ${MOUNTED} && echo mounted && exec cat`;
  return spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', script], { stdio: 'pipe' });
}
