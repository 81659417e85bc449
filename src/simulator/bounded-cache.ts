/**
 * A cache of texts by key, bounded by its characters; the oldest entry is evicted first. Its use changes nothing, because a Map whose
 * entries move all the time keeps V8 from freeing what they refer to.
 */
export class BoundedCache<Value> {
  private readonly entries = new Map<string, { readonly value: Value; readonly characters: number }>();
  private characters = 0;

  constructor(private readonly mostCharacters: number) {}

  get(key: string): Value | undefined {
    return this.entries.get(key)?.value;
  }

  /** Adds a value whose key is not in the cache. `characters` are those of the value; the key counts too. */
  add(key: string, value: Value, characters: number): void {
    const entry = { value, characters: characters + key.length };
    this.entries.set(key, entry);
    this.characters += entry.characters;
    for (const [oldest, evicted] of this.entries) {
      if (this.characters <= this.mostCharacters) return;
      this.entries.delete(oldest);
      this.characters -= evicted.characters;
    }
  }
}
