import { ApiError } from '../protocol/index.js';

/** Where an item of a translated request comes from. */
export interface Place {
  /** The path of the item in the request of the client. */
  readonly path: string;
  /** The paths of what its parts were made from; absent where the parts are in their places. */
  readonly parts?: readonly string[];
  /** Other names of its members. */
  readonly members?: Readonly<Record<string, string>>;
}

/** A pattern of paths in the translated request, and what stands there in that of the client. */
export type Renaming = readonly [pattern: RegExp, name: string | ((whole: string, ...groups: string[]) => string)];

/** What a translated request was made from: errors about it become errors about the request of the client. */
export class Places {
  private readonly places: readonly Place[];

  /**
   * @param items the places of the elements of `input`
   * @param names of other members; the first pattern that matches counts
   * @param ofParts of what stands below a part; the first pattern that matches counts
   */
  constructor(
    items: Iterable<Place>,
    private readonly names: readonly Renaming[],
    private readonly ofParts: readonly Renaming[],
  ) {
    this.places = [...items];
  }

  /** An error with the parameter, and in the words, of the client. Other errors are unchanged. */
  explain(error: unknown): unknown {
    if (!(error instanceof ApiError)) return error;
    const { param, status, type, code, headers, cause } = error;
    const own = param === null ? null : this.rename(param);
    const message = this.reword(
      param === null ? error.message : error.message.replaceAll(`'${param}`, () => `'${own}`),
    );
    if (own === param && message === error.message) return error;
    return new ApiError(status, type, code, own, message, headers, cause);
  }

  /** A text that quotes places of items. */
  private reword(message: string): string {
    return message.replaceAll(/'(input\[\d+\][\w.[\]]*)'/g, (_, path: string) => `'${this.rename(path)}'`);
  }

  private rename(param: string): string {
    const [item, index] = /^input\[(\d+)\]/.exec(param) ?? [];
    if (item === undefined) return renameWith(this.names, param);
    const place = this.places[Number(index)];
    return place === undefined ? 'messages' : this.within(place, param.slice(item.length));
  }

  private within({ path, parts, members = {} }: Place, rest: string): string {
    const [part, partIndex] = /^\.(?:content|output)\[(\d+)\]/.exec(rest) ?? [];
    const below = renameWith(this.ofParts, rest.slice(part?.length ?? 0));
    if (part !== undefined && parts !== undefined) return (parts[Number(partIndex)] ?? path) + below;
    const [whole = '', name = ''] = /^\.(\w+)/.exec(part ?? rest) ?? [];
    const own = Object.hasOwn(members, name) ? `.${members[name]}` : whole;
    return path + own + (part ?? rest).slice(whole.length) + (part === undefined ? '' : below);
  }
}

/** A path by another name; the first pattern that matches counts. */
export function renameWith(names: readonly Renaming[], path: string): string {
  const [pattern, name] = names.find(([each]) => each.test(path)) ?? [];
  if (pattern === undefined || name === undefined) return path;
  return typeof name === 'string' ? path.replace(pattern, name) : path.replace(pattern, name);
}
