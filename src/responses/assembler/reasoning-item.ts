import type { ContentPart, Item } from '../../protocol/index.js';
import { listIn } from '../../validation/index.js';
import {
  foldDelta,
  type ItemOptions,
  type ItemStatus,
  OutputItem,
  type PassedItem,
  ProviderContractError,
  restOf,
  type WireEvent,
} from './output-item.js';
import { headOf, ownForm } from './own-form.js';
import type { ReasoningState, TextState } from './state.js';
import { joinHalves, takeHalf } from './whole-characters.js';

type TextPart = ContentPart & { readonly text: string };

/** A list of parts of a reasoning item: where its state is, and what the protocol calls it. */
interface PartList {
  readonly open: 'summary' | 'text';
  readonly closed: 'summaries' | 'content';
  readonly index: string;
  readonly type: string;
  readonly added: string;
  readonly delta: string;
  readonly textDone: string;
  readonly done: string;
}

const SUMMARY: PartList = {
  open: 'summary',
  closed: 'summaries',
  index: 'summary_index',
  type: 'summary_text',
  added: 'response.reasoning_summary_part.added',
  delta: 'response.reasoning_summary_text.delta',
  textDone: 'response.reasoning_summary_text.done',
  done: 'response.reasoning_summary_part.done',
};

/** The raw reasoning. */
const TEXT: PartList = {
  open: 'text',
  closed: 'content',
  index: 'content_index',
  type: 'reasoning_text',
  added: 'response.content_part.added',
  delta: 'response.reasoning_text.delta',
  textDone: 'response.reasoning_text.done',
  done: 'response.content_part.done',
};

/** A reasoning item: summary parts, raw reasoning text, and the encrypted form for stateless clients. */
export class ReasoningItem extends OutputItem<ReasoningState> {
  /** What the deltas of the open parts begin with. */
  private readonly prefixes: Record<PartList['open'], string | null> = { summary: null, text: null };

  /** Opens an empty reasoning item, as an upstream sends it if there is one. */
  static begin({ events, ids, outputIndex, key }: ItemOptions, passed?: PassedItem): ReasoningItem {
    const head = passed === undefined ? null : headOf(passed.item, 'reasoning');
    const item = new ReasoningItem(events, outputIndex, emptyReasoning(passed?.id ?? ids.next('rs'), key, head));
    item.announce();
    return item;
  }

  /** Appends to the summary. Throws ProviderContractError for a part out of order. */
  summary(delta: string, part: number | undefined): void {
    this.addTo(SUMMARY, delta, part);
  }

  /** Appends to the raw reasoning. Throws ProviderContractError for a part out of order. */
  text(delta: string, part: number | undefined): void {
    this.addTo(TEXT, delta, part);
  }

  /** Sets the encrypted form, which clients see in the finished item. */
  encrypt(content: string): void {
    this.state.encrypted = content;
    this.events.state.characters += content.length;
    this.events.note({ type: 'encrypted', outputIndex: this.outputIndex, content });
  }

  protected override finish(status: ItemStatus): Item {
    this.closePart(SUMMARY);
    this.closePart(TEXT);
    return ownForm(this.state, status);
  }

  protected override finishAs(final: Item): Item {
    this.completeParts(SUMMARY, final['summary']);
    this.completeParts(TEXT, final['content']);
    const { summary, encrypted_content: encrypted = this.state.encrypted } = final;
    return {
      ...final,
      summary: listIn(summary),
      ...(encrypted === null ? {} : { encrypted_content: encrypted }),
    };
  }

  protected override get type(): string {
    return 'reasoning';
  }

  protected override atStart(): Item {
    return { ...ownForm(this.state, 'in_progress'), ...this.state.head };
  }

  private addTo(list: PartList, delta: string, part: number | undefined): void {
    const { state } = this;
    const { length } = state[list.closed];
    if (part !== undefined && part !== length) {
      requireNext(part, length, state[list.open]);
      this.closePart(list);
    }
    const open = (state[list.open] ??= this.beginPart(list));
    this.append(list, open, joinHalves(open, delta));
    this.noteHalf(open, list === SUMMARY);
  }

  private append(list: PartList, open: TextState, delta: string): void {
    if (delta === '') return;
    open.text += delta;
    const prefix = (this.prefixes[list.open] ??= `${this.positionIn(list)},"delta":`);
    this.events.writeDelta(list.delta, prefix, delta);
  }

  private completeParts(list: PartList, final: unknown): void {
    const { state } = this;
    for (const part of textsOf(final, list.type, state[list.closed].length)) {
      const open = (state[list.open] ??= this.beginPart(list));
      open.half = undefined;
      const rest = open.isDone ? '' : restOf(open.text, part.text);
      if (rest !== '') this.addTo(list, rest, undefined);
      open.text = part.text;
      this.closePart(list, part);
    }
    this.closePart(list);
  }

  private beginPart(list: PartList): TextState {
    this.prefixes[list.open] = null;
    const part = JSON.stringify({ type: list.type, text: '' });
    this.events.write(list.added, `${this.positionIn(list)},"part":${part}`);
    return { text: '', isDone: false };
  }

  private closePart(list: PartList, final?: TextPart): void {
    const { state, events } = this;
    const open = state[list.open];
    if (open === null) return;
    this.append(list, open, takeHalf(open));
    const position = this.positionIn(list);
    const part = final ?? { type: list.type, text: open.text };
    state[list.open] = null;
    state[list.closed].push(part);
    if (events.isSilent) return;
    if (!open.isDone) events.write(list.textDone, `${position},"text":${JSON.stringify(part.text)}`);
    events.write(list.done, `${position},"part":${JSON.stringify(part)}`);
  }

  private positionIn({ index, closed }: PartList): string {
    return `${this.position},"${index}":${this.state[closed].length}`;
  }
}

/** The state of an empty reasoning item. */
export function emptyReasoning(id: string, key: string | null, head: ReasoningState['head']): ReasoningState {
  return { kind: 'reasoning', id, key, head, summaries: [], summary: null, content: [], text: null, encrypted: null };
}

/** Applies an event to a reasoning item; returns its characters of output. */
export function foldReasoning(item: ReasoningState, event: WireEvent): number {
  switch (event.type) {
    case 'response.reasoning_summary_part.added':
      item.summary = { text: '', isDone: false };
      return 0;
    case 'response.reasoning_summary_part.done':
      item.summaries.push(event.part as ContentPart);
      item.summary = null;
      return 0;
    case 'response.content_part.added':
      item.text = { text: '', isDone: false };
      return 0;
    case 'response.content_part.done':
      item.content.push(event.part as ContentPart);
      item.text = null;
      return 0;
    case 'response.reasoning_summary_text.delta':
      return foldDelta(item.summary, event);
    case 'response.reasoning_text.delta':
      return foldDelta(item.text, event);
    default: {
      const text = event.type === 'response.reasoning_text.done' ? item.text : item.summary;
      if (text === null) return 0;
      text.isDone = true;
      if (text.half !== undefined) text.half = undefined;
      text.text = event['text'] as string;
      return 0;
    }
  }
}

/** The parts from an index on that events can show: SDKs expect one type, and none is left out between two others. */
function textsOf(list: unknown, type: string, from: number): readonly TextPart[] {
  const parts = listIn(list);
  const end = parts.findIndex((part) => !isTextPart(part, type));
  return parts.slice(from, end === -1 ? parts.length : end) as readonly TextPart[];
}

function isTextPart(part: unknown, type: string): boolean {
  const { type: partType, text } = (part ?? {}) as Readonly<Record<string, unknown>>;
  return partType === type && typeof text === 'string';
}

function requireNext(part: number, current: number, open: TextState | null): void {
  if (part === current + 1 && open !== null) return;
  throw new ProviderContractError(`reasoning part ${part} does not follow part ${current}`);
}
