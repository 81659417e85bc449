import { RecentMap } from '../../recent-map.js';

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
  private readonly seen = new RecentMap<Seen>(CAPACITY);

  /** A conversation, by the base of its slot, has this version. */
  learn(base: string, version: number, change: string): void {
    const last = this.seen.use(base);
    const isLater = last === undefined || version > last.version;
    const isSame = version === last?.version && change === last.change;
    const ambiguousUpTo = last === undefined ? -1 : isLater || isSame ? last.ambiguousUpTo : last.version;
    this.seen.set(base, { version, change, ambiguousUpTo });
  }

  /** The change that has made a version; undefined when this process cannot tell. */
  changeOf(base: string, version: number): string | undefined {
    const last = this.seen.use(base);
    return last?.version === version && version > last.ambiguousUpTo ? last.change : undefined;
  }
}
