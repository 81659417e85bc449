import type { Annotation, ForeignItem } from '../../../protocol/index.js';
import { isObject, listIn, objectsIn } from '../../../validation/index.js';
import type { ModelEvent } from '../../model-event.js';
import { textOrEmpty } from './content-parts.js';

type Members = Readonly<Record<string, unknown>>;

/** Members that name the pages of an answer. */
interface SourceLists {
  readonly citations?: unknown;
  readonly search_results?: unknown;
}

/** An image in a `data:` URL. */
const DATA_URL = /^data:image\/(?<format>[\w.+-]+)(?:;[^,;]*)*;base64,(?<data>.*)$/s;

/** Reads what stands beside the text of an answer: images and citations. Each is read once, however often an upstream sends it. */
export class Attachments {
  private readonly seen = new Set<string>();
  private images = 0;
  /** Titles of cited pages, by their addresses in the order of the numbers that the text has for them. */
  private readonly sources = new Map<string, string>();
  /** The numbers of pages that were noted last, and the last ones. */
  private extent = '';
  private readonly cited = new Set<string>();
  /** Whether there was an image that no item can show. */
  hasHidden = false;

  get hasImages(): boolean {
    return this.images > 0;
  }

  /** The URL citations of `annotations` in the form of the Responses API. */
  readAnnotations(annotations: unknown): readonly Annotation[] {
    return objectsIn(annotations)
      .map(toAnnotation)
      .filter((annotation) => annotation !== undefined)
      .filter((annotation) => this.isNew(JSON.stringify(annotation)));
  }

  /** The items that show images, as if the model had called the tool that draws them: official clients know no others. */
  readImages(images: readonly Members[]): readonly ModelEvent[] {
    return images.flatMap((image) => {
      const url = urlOf(image);
      if (url === '' || !this.isNew(url)) return [];
      const { format, data } = DATA_URL.exec(url)?.groups ?? {};
      this.hasHidden ||= data === undefined;
      return data === undefined ? [] : this.show({ result: data, output_format: format });
    });
  }

  /** Notes the pages that `citations` and `search_results` of a chunk or a delta name, as Perplexity does. */
  noteSources({ citations, search_results: results }: SourceLists): void {
    const lists = [listIn(citations), listIn(results)];
    // Most chunks repeat the lists of the one before, which only grow.
    const extent = lists.map((list) => `${list.length} ${addressOf(list.at(-1))}`).join(' ');
    if (extent === this.extent) return;
    this.extent = extent;
    for (const source of lists.flat()) {
      const { url, title } = isObject(source) ? source : { url: source };
      if (typeof url !== 'string' || url === '') continue;
      this.sources.set(url, this.sources.get(url) || textOrEmpty(title));
    }
  }

  /** Citations of the pages noted so far, each at the first place where a text has its number, such as `[1]`. */
  citeIn(text: string): readonly Annotation[] {
    return [...this.sources].flatMap(([url, title], position) => {
      if (this.cited.has(url)) return [];
      this.cited.add(url);
      const mark = `[${position + 1}]`;
      const at = text.indexOf(mark);
      return this.readAnnotations([
        { type: 'url_citation', url, title, start_index: Math.max(at, 0), end_index: at === -1 ? 0 : at + mark.length },
      ]);
    });
  }

  private show(image: Members): readonly ModelEvent[] {
    this.images += 1;
    const key = `image ${this.images}`;
    const item: ForeignItem = { type: 'image_generation_call', status: 'in_progress', result: null };
    return [
      { type: 'item.open', key, item },
      { type: 'item.event', key, event: { type: 'response.image_generation_call.completed' } },
      { type: 'item.close', key, item: { ...item, status: 'completed', ...image } },
    ];
  }

  private isNew(value: string): boolean {
    return this.seen.size < this.seen.add(value).size;
  }
}

/** A URL citation, whose members some servers write into the annotation itself. */
function toAnnotation(annotation: Members): Annotation | undefined {
  const { type, url_citation: nested } = annotation;
  const { url, title, start_index: start, end_index: end } = isObject(nested) ? nested : annotation;
  if (type !== 'url_citation' || typeof url !== 'string') return undefined;
  return { type, url, title: textOrEmpty(title), start_index: placeOf(start), end_index: placeOf(end) };
}

/** A place in a text; 0 for what is none. */
function placeOf(value: unknown): number {
  const place = Number(value ?? 0);
  return Number.isSafeInteger(place) && place >= 0 ? place : 0;
}

/** The address of an image, which has its data if it is a `data:` URL. */
function urlOf({ image_url: image, url, b64_json: data, inline_data: inline }: Members): string {
  if (isObject(inline)) return `data:${textOrEmpty(inline.mime_type)};base64,${textOrEmpty(inline.data)}`;
  if (typeof data === 'string') return `data:image/png;base64,${data}`;
  return textOrEmpty(isObject(image) ? image.url : (image ?? url));
}

function addressOf(source: unknown): string {
  return textOrEmpty(isObject(source) ? source.url : source);
}
