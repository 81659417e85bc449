/** What a test opens and leaves open: servers, sockets, child processes, threads, timers, listeners on `process`, and folders. */
import { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { readdirSync } from 'node:fs';
import { Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';

/** How long connections and processes may take to go once they were told to, ms: as long as the machine is slow. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 10;

/** Something that is open, and who opened it: a test, or `null` for a hook or an import. */
interface Found<Owner> {
  readonly what: string;
  readonly owner: Owner | null;
}

/** Watches one file: asked after every test, it knows which of them opened what is still open at the end. */
export class Leftovers<Owner extends object> {
  private readonly before: WeakSet<object>;
  private readonly timersBefore = countTimers();
  /** Weak: what a test closes would keep its whole service until the file ends. */
  private readonly owners = new WeakMap<object, Owner | null>();
  /** Since whom so many timers more than before were never fewer again. */
  private timerOwners: (Owner | null)[] = [];
  private readonly known = new Map<string, Folder>();

  /** `directory`: where the tests make their folders. */
  constructor(
    private readonly directory: string,
    private readonly patienceMs = PATIENCE_MS,
  ) {
    this.before = new WeakSet(this.open());
  }

  /** Remembers what is open now and was not when it was last asked: it belongs to `owner`. */
  look(owner: Owner | null): void {
    for (const thing of this.open())
      if (!this.before.has(thing) && !this.owners.has(thing)) this.owners.set(thing, owner);
    const timers = Math.max(0, countTimers() - this.timersBefore);
    this.timerOwners.length = Math.min(this.timerOwners.length, timers);
    while (this.timerOwners.length < timers) this.timerOwners.push(owner);
  }

  /** What is left once it had the time to go. */
  async atEnd(): Promise<readonly Found<Owner>[]> {
    const deadline = performance.now() + this.patienceMs;
    for (;;) {
      this.look(null);
      const left = this.open().filter((thing) => !this.before.has(thing));
      if ((left.length === 0 && this.timerOwners.length === 0) || performance.now() > deadline) {
        const timers = this.timerOwners.map((owner) => ({ what: 'a timer', owner }));
        return [...left.map((thing) => ({ what: describe(thing), owner: this.owners.get(thing) ?? null })), ...timers];
      }
      await sleep(LOOK_MS, undefined, { ref: false });
    }
  }

  private open(): readonly object[] {
    return [...openThings(), ...this.folders()];
  }

  private folders(): readonly Folder[] {
    // Others are caches of programs that tests run.
    const names = readdirSync(this.directory).filter((name) => name.startsWith('antiphon-'));
    return names.map((name) => {
      const folder = this.known.get(name) ?? new Folder(name);
      this.known.set(name, folder);
      return folder;
    });
  }
}

/** A folder in the one for temporary files. */
class Folder {
  constructor(readonly name: string) {}
}

/** A listener on `process`: the same function may listen to more than one event. */
interface Listener {
  readonly event: string | symbol;
  readonly listener: unknown;
}

/** One object for the same listener, as these are compared. */
const listeners = new WeakMap<object, Map<string | symbol, Listener>>();

/** Threads that run: Node counts them nowhere. */
const threads = new Set<Worker>();
subscribe('worker_threads', (message) => {
  const { worker } = message as { readonly worker: Worker };
  threads.add(worker);
  worker.once('exit', () => threads.delete(worker));
});

function openThings(): readonly object[] {
  // Undocumented, and the only way to learn what keeps a process alive by more than its kind.
  const handles = (process as unknown as { _getActiveHandles(): object[] })._getActiveHandles();
  const onProcess = process
    .eventNames()
    .flatMap((event) => process.rawListeners(event as 'exit').map((listener) => listenerOf(event, listener)));
  return [...handles.filter(isOfTests), ...threads, ...onProcess];
}

function listenerOf(event: string | symbol, listener: object): Listener {
  const events = listeners.get(listener) ?? new Map<string | symbol, Listener>();
  listeners.set(listener, events);
  const known = events.get(event) ?? { event, listener };
  events.set(event, known);
  return known;
}

/** Not what this process was born with, nor a socket that was closed and is about to go. */
function isOfTests(handle: object): boolean {
  if (handle instanceof Socket && handle.destroyed) return false;
  return handle !== process.stdin && handle !== process.stdout && handle !== process.stderr;
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

function describe(thing: unknown): string {
  if (thing instanceof Server) return `a server that listens on ${JSON.stringify(thing.address())}`;
  if (thing instanceof Socket)
    return `a socket to ${thing.remoteAddress ?? 'nobody'}:${thing.remotePort ?? ''} from ${thing.localPort ?? ''}`;
  if (thing instanceof ChildProcess) return `the process ${thing.pid ?? ''}: ${thing.spawnargs.join(' ')}`;
  if (typeof thing === 'object' && thing !== null && 'event' in thing)
    return `a listener on process for ${String((thing as Listener).event)}: ${String((thing as Listener).listener)}`;
  if (thing instanceof Folder) return `the folder ${thing.name}`;
  if (threads.has(thing as Worker)) return 'a thread';
  return `a ${(thing as object).constructor.name}`;
}
