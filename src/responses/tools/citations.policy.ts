import { Injectable } from '@nestjs/common';

import type { Annotation, ForeignItem } from '../../protocol/index.js';
import type { ModelEvent, Turn } from '../../providers/index.js';
import { isObject, objectsIn } from '../../validation/index.js';
import { WebSearch } from '../../web-search/index.js';
import { PassPolicy, type TurnPolicy } from '../turn/pass-policy.js';
import { type Source, sourcesIn, toAnnotation } from './sources.js';
import { webSearchToolsOf } from './web-search-turn.js';

/** Makes annotations of the marks with which models cite what tools of the service have found. Comes behind the policies of those tools. */
@Injectable()
export class CitationsPolicy extends PassPolicy {
  constructor(private readonly web: WebSearch) {
    super();
  }

  /** Others pay nothing for it: the context of a turn without such tools is not searched for sources. */
  override begin(turn: Turn): TurnPolicy | undefined {
    return this.web.isOn && webSearchToolsOf(turn).length > 0 ? new CitingTurn() : undefined;
  }
}

/** The citations of one turn. */
class CitingTurn implements TurnPolicy {
  /** Null where there is nothing to cite: then events pass as they are. */
  private marks: MarkReader | null = null;

  ask(question: Turn): Turn {
    const sources = sourcesIn(question.context);
    this.marks = sources.size === 0 ? null : new MarkReader(sources);
    return question;
  }

  look(event: ModelEvent): ModelEvent | readonly ModelEvent[] | undefined {
    return this.marks === null ? event : this.marks.look(event);
  }
}

type TextEvent = Extract<ModelEvent, { readonly type: 'text' }>;

/** A text that grows. */
interface GrowingText {
  /** The part of its message. */
  readonly part: number | undefined;
  /** What was passed on. */
  text: string;
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
const LONGEST_STATEMENT = 2000;

const SENTENCES = new Intl.Segmenter(undefined, { granularity: 'sentence' });

/** Reads marks in the text of one pass, also in pieces. */
class MarkReader {
  private readonly texts = new Map<string | undefined, GrowingText>();

  constructor(private readonly sources: ReadonlyMap<string, Source>) {}

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
    const growing: GrowingText = isSame ? known : { part, text: '', held: '', citedUpTo: -1 };
    this.texts.set(key, growing);
    const isPlain = growing.held === '' && !delta.includes(OPEN) && !/\s$/.test(delta);
    if (isPlain) {
      growing.text += delta;
      growing.citedUpTo = -1;
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
      growing.text += delta;
      growing.citedUpTo = -1;
      // They belong to the whole piece: its first part has them.
      const { logprobs: _, ...plain } = event;
      events.push({ ...plain, delta, ...(logprobs === undefined ? {} : { logprobs }) });
      logprobs = undefined;
    };
    let left = text;
    for (;;) {
      const at = left.indexOf(OPEN);
      if (at === -1) {
        const space = isEnd ? '' : (/\s+$/.exec(left)?.[0] ?? '');
        write(left.slice(0, left.length - space.length));
        growing.held = space;
        return events;
      }
      const end = left.indexOf(CLOSE, at);
      if (end === -1 && !isEnd && left.length - at <= LONGEST_MARK) {
        // Space before a mark goes with it.
        const before = left.slice(0, at).trimEnd();
        write(before);
        growing.held = left.slice(before.length);
        return events;
      }
      const inside = end === -1 ? '' : left.slice(at + 1, end);
      if (inside.length > LONGEST_MARK || !IN_MARK.test(inside)) {
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
    const found = names.map((name) => this.sources.get(name)).filter((source) => source !== undefined);
    if (found.length === 0) return [];
    const end = growing.citedUpTo === -1 ? growing.text.trimEnd().length : growing.citedUpTo;
    growing.citedUpTo = end;
    const start = startOfStatement(growing.text.slice(0, end));
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
    // Its form has what was held.
    this.texts.delete(key);
    return [{ ...event, item: this.withoutMarks(item, item['content'] as readonly unknown[]) }];
  }

  private withoutMarks(item: ForeignItem, content: readonly unknown[]): ForeignItem {
    const parts = content.map((part) => {
      if (!isObject(part) || typeof part.text !== 'string' || !part.text.includes(OPEN)) return part;
      const reader = new MarkReader(this.sources);
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

/** Where the last statement of a text begins: a sentence, or what stands in the line. */
function startOfStatement(text: string): number {
  const line = Math.max(text.lastIndexOf('\n') + 1, text.length - LONGEST_STATEMENT);
  let start = line;
  for (const { segment, index } of SENTENCES.segment(text.slice(line))) {
    if (segment.trim() !== '') start = line + index;
  }
  // Neither the space before it nor the sign of a list.
  return start + (/^\s*(?:(?:[-*+•]|#+|\d+[.)])\s+)?/.exec(text.slice(start))?.[0].length ?? 0);
}
