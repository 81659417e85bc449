/**
 * Objects that come and go, each in a numbered place. For what lives as long as the process and sees every request, where a Set or
 * a Map is expensive: V8 replaces a table that is full of deleted entries by another one, to which the old one refers. Once an old
 * one has survived a full garbage collection, everything that passes through its successors survives until the next.
 */
export class Roster<Member extends object> implements Iterable<Member> {
  private readonly members: (Member | undefined)[] = [];
  private readonly free: number[] = [];

  get size(): number {
    return this.members.length - this.free.length;
  }

  /** Adds an object, and returns its place. */
  add(member: Member): number {
    const place = this.free.pop() ?? this.members.length;
    this.members[place] = member;
    return place;
  }

  /** Removes and returns the object of a place; undefined when it is empty. */
  take(place: number): Member | undefined {
    const member = this.members[place];
    if (member === undefined) return undefined;
    this.members[place] = undefined;
    this.free.push(place);
    return member;
  }

  *[Symbol.iterator](): Generator<Member> {
    for (const member of this.members) if (member !== undefined) yield member;
  }
}
