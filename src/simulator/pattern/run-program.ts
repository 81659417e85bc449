import { spend, TooMuchWork } from '../work.js';
import type { CharacterSet } from './character-set.js';
import type { CharactersInstruction, Instruction, Program, RepeatInstruction } from './compile-program.js';
import type { EdgeNode, ReferenceNode } from './parse-pattern.js';

const TOO_MUCH = 'A pattern in it takes too many steps to match.';
/** Numbers that a match may keep to return to: some MB. */
const MOST_KEPT = 1_000_000;
/** Numbers of a place to return to: the instruction, the position, the changes until then, and how far `characters` may shrink. */
const PLACE = 4;
const NOWHERE = -1;

/**
 * A program at work on a text, by backtracking as ECMAScript defines it. Spends a step for each instruction and each character. It
 * keeps lists instead of calling itself, so that nothing but counts bounds it.
 */
export class ProgramRun {
  private readonly slots: number[];
  private readonly places: number[] = [];
  /** Slots and what they were, to take the changes back. */
  private readonly changes: number[] = [];

  constructor(
    private readonly program: Program,
    private readonly text: string,
    private readonly isUnicode: boolean,
  ) {
    this.slots = new Array<number>(program.slots).fill(NOWHERE);
  }

  /** Whether a part of the text matches. */
  search(): boolean {
    const [first] = this.program.instructions;
    const isAtStart = first?.do === 'edge' && first.node.edge === 'start' && !first.node.multiline;
    for (let from = 0; from !== NOWHERE; from = this.step(from, false)) {
      if (this.match(0, from)) return true;
      if (isAtStart) return false;
      this.undo(0);
    }
    return false;
  }

  /** Whether the instructions from `first` to their `accept` match at a position. */
  private match(first: number, from: number): boolean {
    const { places, program } = this;
    const bottom = places.length;
    let next = first;
    let at = from;
    for (;;) {
      spend(1, TOO_MUCH);
      const instruction = program.instructions[next] as Instruction;
      next += 1;
      switch (instruction.do) {
        case 'accept':
          places.length = bottom;
          return true;
        case 'character':
          at = this.read(instruction.set, at, instruction.isBackward);
          break;
        case 'characters':
          at = this.readMany(instruction, next - 1, at);
          break;
        case 'split':
          this.keep(instruction.other, at);
          break;
        case 'jump':
          next = instruction.to;
          break;
        case 'save':
          this.change(instruction.slot, at);
          break;
        case 'begin':
          this.change(instruction.slots.count, 0);
          break;
        case 'repeat':
          next = this.repeat(instruction, next, at);
          break;
        case 'again':
          this.change(instruction.slots.count, this.slot(instruction.slots.count) + 1);
          this.change(instruction.slots.start, at);
          this.forget(instruction.captures);
          break;
        case 'look':
          if (!this.look(next, at, instruction.isNegative)) at = NOWHERE;
          next = instruction.end;
          break;
        case 'edge':
          if (!this.isEdge(instruction.node, at)) at = NOWHERE;
          break;
        case 'reference':
          at = this.readAgain(instruction.node, at, instruction.isBackward);
      }
      if (at !== NOWHERE && next !== NOWHERE) continue;
      if (places.length === bottom) return false;
      [next, at] = this.goBack();
    }
  }

  /** The position behind a character of the set, NOWHERE if there is another. Backward, the position before it. */
  private read(set: CharacterSet, at: number, isBackward: boolean): number {
    const end = this.step(at, isBackward);
    if (end === NOWHERE) return NOWHERE;
    return set.has(this.codeAt(isBackward ? end : at)) ? end : NOWHERE;
  }

  private codeAt(at: number): number {
    return (this.isUnicode ? this.text.codePointAt(at) : this.text.charCodeAt(at)) ?? NOWHERE;
  }

  /** The position one character on; NOWHERE past an end of the text. */
  private step(at: number, isBackward: boolean): number {
    const end = isBackward ? at - 1 : at + 1;
    if (end < 0 || end > this.text.length) return NOWHERE;
    if (!this.isUnicode) return end;
    if (isBackward) return end > 0 && this.isPair(end - 1) ? end - 1 : end;
    return this.isPair(at) ? end + 1 : end;
  }

  private isPair(at: number): boolean {
    return (this.text.charCodeAt(at) & 0xfc00) === 0xd800 && (this.text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
  }

  private readMany({ set, isBackward, least, most }: CharactersInstruction, place: number, from: number): number {
    let at = from;
    let shortest = from;
    let count = 0;
    while (count < most) {
      const end = this.read(set, at, isBackward);
      if (end === NOWHERE) break;
      at = end;
      count += 1;
      if (count === least) shortest = at;
      spend(1, TOO_MUCH);
    }
    if (count < least) return NOWHERE;
    if (count > least) this.keep(place, at, shortest);
    return at;
  }

  /** Where to go on: with one repetition more, or behind all of them. */
  private repeat(instruction: RepeatInstruction, again: number, at: number): number {
    const { least, most, isLazy, slots, end } = instruction;
    const times = this.slot(slots.count);
    // Nothing, repeated once more than necessary, would never end.
    if (times > least && this.slot(slots.start) === at) return NOWHERE;
    if (times < least) return again;
    if (times >= most) return end;
    this.keep(isLazy ? again : end, at);
    return isLazy ? end : again;
  }

  private forget([first, end]: readonly [first: number, end: number]): void {
    for (let slot = 2 * first; slot < 2 * end; slot++) if (this.slot(slot) !== NOWHERE) this.change(slot, NOWHERE);
  }

  private look(first: number, at: number, isNegative: boolean): boolean {
    const before = this.changes.length;
    const isThere = this.match(first, at);
    if (isNegative) this.undo(before);
    return isThere !== isNegative;
  }

  private isEdge({ edge, multiline, word }: EdgeNode, at: number): boolean {
    if (edge === 'start') return at === 0 || (multiline && this.isLineEnd(at - 1));
    if (edge === 'end') return at === this.text.length || (multiline && this.isLineEnd(at));
    const [before, after] = [at - 1, at].map((place) => place >= 0 && word.has(this.text.charCodeAt(place)));
    return (before !== after) === (edge === 'word');
  }

  private isLineEnd(at: number): boolean {
    return '\n\r\u2028\u2029'.includes(this.text.charAt(at));
  }

  /** Reads what a group has captured once more; nothing where it has captured nothing. */
  private readAgain({ captures, same }: ReferenceNode, from: number, isBackward: boolean): number {
    spend(captures.length, TOO_MUCH);
    const capture = captures.find((one) => this.slot(2 * one + 1) !== NOWHERE && this.slot(2 * one) !== NOWHERE);
    if (capture === undefined) return from;
    const [start, end] = [this.slot(2 * capture), this.slot(2 * capture + 1)];
    const first = isBackward ? from - (end - start) : from;
    if (first < 0 || first + end - start > this.text.length) return NOWHERE;
    for (let at = start; at < end; at = this.step(at, false)) {
      spend(1, TOO_MUCH);
      const [code, other] = [this.codeAt(at), this.codeAt(first + at - start)];
      if (code !== other && !same(code).has(other)) return NOWHERE;
    }
    return isBackward ? first : first + end - start;
  }

  private slot(slot: number): number {
    return this.slots[slot] ?? NOWHERE;
  }

  private change(slot: number, value: number): void {
    if (this.changes.length >= MOST_KEPT) throw new TooMuchWork(TOO_MUCH);
    this.changes.push(slot, this.slot(slot));
    this.slots[slot] = value;
  }

  private undo(length: number): void {
    const { changes, slots } = this;
    while (changes.length > length) {
      const before = changes.pop() ?? NOWHERE;
      slots[changes.pop() ?? 0] = before;
    }
  }

  private keep(place: number, at: number, shortest = NOWHERE): void {
    if (this.places.length >= MOST_KEPT) throw new TooMuchWork(TOO_MUCH);
    this.places.push(place, at, this.changes.length, shortest);
  }

  /** Returns to the last place: the next instruction and the position. */
  private goBack(): readonly [next: number, at: number] {
    const { places, program } = this;
    const last = places.length - PLACE;
    const place = places[last] ?? 0;
    const at = places[last + 1] ?? 0;
    const shortest = places[last + 3] ?? NOWHERE;
    this.undo(places[last + 2] ?? 0);
    const instruction = program.instructions[place];
    if (shortest === NOWHERE || instruction?.do !== 'characters') {
      places.length = last;
      return [place, at];
    }
    const shorter = this.step(at, !instruction.isBackward);
    if (shorter === shortest) places.length = last;
    else places[last + 1] = shorter;
    return [place + 1, shorter];
  }
}
