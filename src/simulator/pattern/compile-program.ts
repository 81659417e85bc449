import type { CharacterSet } from './character-set.js';
import type { EdgeNode, PatternNode, ReferenceNode, RepeatNode } from './parse-pattern.js';

/** A pattern as instructions for `runProgram`. */
export interface Program {
  readonly instructions: readonly Instruction[];
  /** Numbers to remember: the starts and ends of captures, then those of repetitions. */
  readonly slots: number;
}

/** One step. Places are indices of instructions. Looking behind reads backward. */
export type Instruction =
  | { readonly do: 'character'; readonly set: CharacterSet; readonly isBackward: boolean }
  | CharactersInstruction
  /** Goes on with the next instruction, and later at `other`. */
  | { readonly do: 'split'; readonly other: number }
  | { readonly do: 'jump'; readonly to: number }
  /** Remembers the position. */
  | { readonly do: 'save'; readonly slot: number }
  /** Begins to count repetitions. */
  | { readonly do: 'begin'; readonly slots: RepeatSlots }
  | RepeatInstruction
  /** Begins one repetition. */
  | { readonly do: 'again'; readonly captures: RepeatNode['captures']; readonly slots: RepeatSlots }
  | { readonly do: 'look'; readonly isNegative: boolean; readonly end: number }
  | { readonly do: 'edge'; readonly node: EdgeNode }
  | { readonly do: 'reference'; readonly node: ReferenceNode; readonly isBackward: boolean }
  | { readonly do: 'accept' };

/** As many characters as there are, then one less with each return. */
export interface CharactersInstruction {
  readonly do: 'characters';
  readonly set: CharacterSet;
  readonly isBackward: boolean;
  readonly least: number;
  readonly most: number;
}

/** Where the repetitions so far are counted, and where the last one began. */
interface RepeatSlots {
  readonly count: number;
  readonly start: number;
}

/** Decides whether to repeat what follows, or to go on at `end`. */
export interface RepeatInstruction {
  readonly do: 'repeat';
  readonly least: number;
  readonly most: number;
  readonly isLazy: boolean;
  readonly slots: RepeatSlots;
  readonly end: number;
}

/** Compiles a pattern with so many captures, of which 0 is the whole match. */
export function compileProgram(pattern: PatternNode, captures: number): Program {
  const instructions: Instruction[] = [];
  let slots = 2 * (captures + 1);

  /** Adds an instruction that is made when its target is known. */
  function addLater(make: (target: number) => Instruction): () => void {
    const place = instructions.push({ do: 'accept' }) - 1;
    return () => (instructions[place] = make(instructions.length));
  }

  function add(node: PatternNode, isBackward: boolean): void {
    switch (node.type) {
      case 'character':
        instructions.push({ do: 'character', set: node.set, isBackward });
        break;
      case 'sequence':
        for (const part of isBackward ? node.parts.toReversed() : node.parts) add(part, isBackward);
        break;
      case 'choice': {
        const leave = node.options.slice(0, -1).map((option) => {
          const split = addLater((other) => ({ do: 'split', other }));
          add(option, isBackward);
          const jump = addLater((to) => ({ do: 'jump', to }));
          split();
          return jump;
        });
        for (const option of node.options.slice(-1)) add(option, isBackward);
        for (const jump of leave) jump();
        break;
      }
      case 'capture': {
        const ends = [2 * node.capture, 2 * node.capture + 1] as const;
        instructions.push({ do: 'save', slot: ends[isBackward ? 1 : 0] });
        add(node.body, isBackward);
        instructions.push({ do: 'save', slot: ends[isBackward ? 0 : 1] });
        break;
      }
      case 'repeat':
        addRepeat(node, isBackward);
        break;
      case 'look': {
        const look = addLater((end) => ({ do: 'look', isNegative: node.isNegative, end }));
        add(node.body, node.isBehind);
        instructions.push({ do: 'accept' });
        look();
        break;
      }
      case 'edge':
        instructions.push({ do: 'edge', node });
        break;
      case 'reference':
        instructions.push({ do: 'reference', node, isBackward });
    }
  }

  function addRepeat(node: RepeatNode, isBackward: boolean): void {
    const { body, least, most, isLazy, captures } = node;
    if (body.type === 'character' && !isLazy) {
      instructions.push({ do: 'characters', set: body.set, isBackward, least, most });
      return;
    }
    const own = { count: slots++, start: slots++ };
    const to = instructions.push({ do: 'begin', slots: own });
    const repeat = addLater((end) => ({ do: 'repeat', least, most, isLazy, slots: own, end }));
    instructions.push({ do: 'again', captures, slots: own });
    add(body, isBackward);
    instructions.push({ do: 'jump', to });
    repeat();
  }

  add(pattern, false);
  instructions.push({ do: 'accept' });
  return { instructions, slots };
}
