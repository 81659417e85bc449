import { Injectable } from '@nestjs/common';

import type { Annotation, ForeignItem } from '../../protocol/index.js';
import { type ModelEvent, splitSentences, type Turn } from '../../providers/index.js';
import { isObject, objectsIn } from '../../validation/index.js';
import { WebSearch } from '../../tools/web-search/index.js';
import { PassPolicy, type TurnPolicy } from '../turn/pass-policy.js';
import { hostedToolsOf, isOwnFileSearch } from './hosted-tool-turn.js';
import { type Source, sourcesIn, toAnnotation } from './sources.js';
import { webSearchToolsOf } from './web-search-turn.js';

/** Makes annotations of the marks with which models cite what tools of the service have found. Comes behind the policies of those tools. */
@Injectable()
export class CitationsPolicy extends PassPolicy {
  constructor(private readonly web: WebSearch) {
    super();
  }

  /** Where the web is searched, also without the tool: what an earlier response has found may be cited. To look for files there would read each context. */
  override begin(turn: Turn): TurnPolicy | undefined {
    const isExpecting =
      (this.web.isOn && webSearchToolsOf(turn).length > 0) || hostedToolsOf(turn, isOwnFileSearch).length > 0;
    const mayCite = isExpecting || this.web.isOn || turn.input.some(({ type }) => type === 'file_search_call');
    return mayCite ? new CitingTurn(isExpecting) : undefined;
  }
}

/** The citations of one turn. */
class CitingTurn implements TurnPolicy {
  private reader: MarkReader | null = null;

  /** `isExpecting`: whether the model is told to cite. */
  constructor(private readonly isExpecting: boolean) {}

  ask(question: Turn): Turn {
    this.reader = new MarkReader(() => sourcesIn(question.context), this.isExpecting);
    return question;
  }

  look(event: ModelEvent): ModelEvent | readonly ModelEvent[] {
    return this.reader?.look(event) ?? event;
  }
}

type TextEvent = Extract<ModelEvent, { readonly type: 'text' }>;

interface GrowingText {
  /** The part of its message. */
  readonly part: number | undefined;
  /** Length of what was passed on. */
  length: number;
  /** The end of what was passed on, as far as a statement may reach. */
  tail: string;
  /** What may become a mark, or stand before one. */
  held: string;
  /** Where the statement ends that marks cite, which stand side by side; -1 behind other text. */
  citedUpTo: number;
}

const OPEN = '【';
const CLOSE = '】';
/** Characters between them. */
const LONGEST_MARK = 80;
/** What stands in a mark, such as `3`, `1, 2` or `f3†source`. */
const IN_MARK = /^\s*[a-z]?\d+(?:†[^,;]*)?(?:\s*[,;]\s*[a-z]?\d+(?:†[^,;]*)?)*\s*$/;

/** Characters. */
const LONGEST_STATEMENT = 600;
/** Space before a mark, characters: more is text. */
const LONGEST_SPACE = 16;

/** Reads marks in the text of one pass, also in pieces. */
class MarkReader {
  private readonly texts = new Map<string | undefined, GrowingText>();

  private known: ReadonlyMap<string, Source> | null | undefined;

  /** `find` is called with the first mark: it costs a look at the whole context. `holdsSpace`: whether space waits for a mark behind it. */
  constructor(
    private readonly find: () => ReadonlyMap<string, Source> | null,
    private readonly holdsSpace: boolean,
  ) {}

  private get sources(): ReadonlyMap<string, Source> | null {
    return this.known === undefined ? (this.known = this.find()) : this.known;
  }

  /** The events in place of one. */
  look(event: ModelEvent): ModelEvent | readonly ModelEvent[] {
    switch (event.type) {
      case 'text':
        return this.read(event);
      case 'item.close':
        return this.close(event);
      case 'usage':
      case 'metadata':
      case 'hidden':
      case 'event':
        return event;
      case 'finish':
        return [...[...this.texts.keys()].flatMap((key) => this.flush(key)), event];
      default: {
        // Another item begins where the text was, or what is no text.
        const { key } = event as { readonly key?: string };
        const rest = this.flush(key);
        return rest.length === 0 ? event : [...rest, event];
      }
    }
  }

  private read(event: TextEvent): ModelEvent | readonly ModelEvent[] {
    const { key, part, delta } = event;
    const known = this.texts.get(key);
    const isSame = known !== undefined && (part === undefined || part === known.part);
    const rest = isSame ? [] : this.flush(key);
    const growing: GrowingText = isSame ? known : { part, length: 0, tail: '', held: '', citedUpTo: -1 };
    this.texts.set(key, growing);
    const isPlain = growing.held === '' && !delta.includes(OPEN) && !(this.holdsSpace && /\s$/.test(delta));
    if (isPlain) {
      grow(growing, delta);
      return rest.length === 0 ? event : [...rest, event];
    }
    return [...rest, ...this.advance(event, growing, growing.held + delta, false)];
  }

  /** Passes on what is known of a text; `isEnd`: nothing follows. */
  private advance(event: TextEvent, growing: GrowingText, text: string, isEnd: boolean): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    let { logprobs } = event;
    const write = (delta: string): void => {
      if (delta === '') return;
      grow(growing, delta);
      // Log probabilities belong to the whole piece: its first part has them.
      const { logprobs: _, ...plain } = event;
      events.push({ ...plain, delta, ...(logprobs === undefined ? {} : { logprobs }) });
      logprobs = undefined;
    };
    let left = text;
    for (;;) {
      const at = left.indexOf(OPEN);
      if (at === -1) {
        const space = isEnd || !this.holdsSpace ? 0 : left.length - left.trimEnd().length;
        const held = space > LONGEST_SPACE ? 0 : space;
        write(left.slice(0, left.length - held));
        growing.held = left.slice(left.length - held);
        return events;
      }
      // Only as far as a mark goes: a text of nothing but beginnings is read once.
      const close = left.slice(at, at + LONGEST_MARK + 2).indexOf(CLOSE);
      const end = close === -1 ? -1 : at + close;
      if (end === -1 && !isEnd && left.length - at <= LONGEST_MARK) {
        // Space before a mark goes with it.
        const before = left.slice(0, at).trimEnd();
        write(before);
        growing.held = left.slice(before.length);
        return events;
      }
      const inside = end === -1 ? '' : left.slice(at + 1, end);
      if (inside.length > LONGEST_MARK || !IN_MARK.test(inside) || this.sources === null) {
        write(left.slice(0, at + 1));
        left = left.slice(at + 1);
        continue;
      }
      write(left.slice(0, at).trimEnd());
      for (const annotation of this.cite(growing, inside)) {
        const { key } = event;
        events.push({ type: 'annotation', annotation, ...(key === undefined ? {} : { key }) });
      }
      left = left.slice(end + 1);
    }
  }

  /** The annotations of a mark: none for what is no source. */
  private cite(growing: GrowingText, inside: string): readonly Annotation[] {
    const names = inside.split(/[,;]/).map((part) => (part.split('†', 1)[0] ?? '').trim());
    const found = names.map((name) => this.sources?.get(name)).filter((source) => source !== undefined);
    if (found.length === 0) return [];
    const { length, tail } = growing;
    const end = growing.citedUpTo === -1 ? length - (tail.length - tail.trimEnd().length) : growing.citedUpTo;
    growing.citedUpTo = end;
    const before = length - tail.length;
    const start = before + startOfStatement(tail.slice(0, end - before));
    return found.map((source) => toAnnotation(source, start, end));
  }

  private flush(key: string | undefined): readonly ModelEvent[] {
    const growing = this.texts.get(key);
    this.texts.delete(key);
    if (growing === undefined || growing.held === '') return [];
    const { part, held } = growing;
    const event: TextEvent = {
      type: 'text',
      delta: '',
      ...(part === undefined ? {} : { part }),
      ...(key === undefined ? {} : { key }),
    };
    growing.held = '';
    return this.advance(event, growing, held, true);
  }

  /** The final form of a message has marks too. */
  private close(event: Extract<ModelEvent, { readonly type: 'item.close' }>): readonly ModelEvent[] {
    const { item, key } = event;
    if (item.type !== 'message' || !Array.isArray(item['content'])) return [...this.flush(key), event];
    // The final form of the message has the text that was held.
    this.texts.delete(key);
    return [{ ...event, item: this.withoutMarks(item, item['content'] as readonly unknown[]) }];
  }

  private withoutMarks(item: ForeignItem, content: readonly unknown[]): ForeignItem {
    const parts = content.map((part) => {
      if (!isObject(part) || typeof part.text !== 'string' || !part.text.includes(OPEN)) return part;
      const reader = new MarkReader(this.find, true);
      const events = [
        reader.look({ type: 'text', delta: part.text }),
        reader.look({ type: 'finish', reason: 'stop' }),
      ].flat();
      const text = events.map((event) => (event.type === 'text' ? event.delta : '')).join('');
      const cited = events.flatMap((event) => (event.type === 'annotation' ? [event.annotation] : []));
      return { ...part, text, annotations: [...objectsIn(part.annotations), ...cited] };
    });
    return { ...item, content: parts };
  }
}

function grow(growing: GrowingText, delta: string): void {
  growing.length += delta.length;
  growing.tail = (growing.tail + delta).slice(-LONGEST_STATEMENT);
  growing.citedUpTo = -1;
}

/** Where the last statement of a text begins: a sentence, or what stands in the line. */
function startOfStatement(text: string): number {
  const line = text.lastIndexOf('\n') + 1;
  let start = line;
  for (const { segment, index } of splitSentences(text.slice(line))) {
    if (segment.trim() !== '') start = line + index;
  }
  // Neither the space before it nor the sign of a list.
  return start + (/^\s*(?:(?:[-*+•]|#+|\d+[.)])\s+)?/.exec(text.slice(start))?.[0].length ?? 0);
}
