/** What was asked for or learned last, up to a number of entries. */
export class Recent<Value> {
  /** Those that were used last at the end. */
  private readonly entries = new Map<string, Value>();

  constructor(private readonly capacity: number) {}

  get(key: string): Value | undefined {
    const value = this.entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size <= this.capacity) return;
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
  }

  delete(key: string): void {
    this.entries.delete(key);
  }
}

/** Most conversations whose versions are remembered: some hundred bytes each. */
const CAPACITY = 20_000;

/** What a version was when this process saw it. */
interface Seen {
  readonly version: number;
  /** Names the change that made it. */
  readonly change: string;
  /** Versions up to this one have meant different items: there was a loss. */
  readonly ambiguousUpTo: number;
}

/**
 * The versions of conversations that this process has seen. After a failover or a crash Redis may have lost the latest changes, and others
 * reach the same number: a version is the one that was seen only if the same change has made it.
 */
export class KnownVersions {
  private readonly seen = new Recent<Seen>(CAPACITY);

  /** A conversation, by the base of its slot, has this version. */
  learn(base: string, version: number, change: string): void {
    const last = this.seen.get(base);
    const isLater = last === undefined || version > last.version;
    const isSame = version === last?.version && change === last.change;
    const ambiguousUpTo = last === undefined ? -1 : isLater || isSame ? last.ambiguousUpTo : last.version;
    this.seen.set(base, { version, change, ambiguousUpTo });
  }

  /** The change that has made a version; undefined when this process cannot tell. */
  changeOf(base: string, version: number): string | undefined {
    const last = this.seen.get(base);
    return last?.version === version && version > last.ambiguousUpTo ? last.change : undefined;
  }
}
