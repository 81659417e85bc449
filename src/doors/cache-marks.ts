import { ApiError, type ContentPart } from '../protocol/index.js';

/**
 * Marks the end of a prefix that an upstream may cache. It comes from the API of Anthropic; gateways take it in parts of Chat Completions, too.
 * The Responses API has another mark, with other lifetimes, so this one passes through turns unchanged.
 */
export const CACHE_MARK = 'cache_control';

/** What may be marked. */
interface Marked {
  readonly [CACHE_MARK]?: unknown;
}

/** What the marks of a request depend on. */
interface MarkOptions {
  /** Members that a model is given unchanged. */
  readonly forwardedTo: (model: string) => ReadonlySet<string>;
  /** Is told the name of a member that has no effect. */
  readonly ignore: (name: string) => void;
}

/** Gives the marks of a request to its parts, if `forward` has them reach its model. Otherwise they have no effect. */
export class CacheMarks {
  private isKnown: boolean | undefined;

  constructor(
    private readonly model: string,
    private readonly options: MarkOptions,
    /** Whether a mark that has no effect is refused. */
    private readonly isRefused = false,
  ) {}

  /** Whether something is marked, and the mark reaches the model. */
  takes({ [CACHE_MARK]: mark }: Marked): boolean {
    // A look-up that most requests need not make.
    return mark != null && (this.isKnown ??= this.options.forwardedTo(this.model).has(CACHE_MARK));
  }

  /**
   * The parts that something marked became, the last one with the mark. Throws ApiError 400 for a mark without an effect, if it is refused.
   *
   * @param path of what is marked, for the error
   */
  keep(given: Marked, parts: readonly ContentPart[], path: string): readonly ContentPart[] {
    const { [CACHE_MARK]: mark } = given;
    if (mark == null) return parts;
    const last = parts.at(-1);
    if (last !== undefined && this.takes(given)) return parts.with(-1, { ...last, [CACHE_MARK]: mark });
    const param = `${path}.${CACHE_MARK}`;
    if (this.isRefused) throw ApiError.of('unknown_parameter', `Unknown parameter: '${param}'.`, { param });
    // Without a part the mark has no effect with any model.
    this.options.ignore(last === undefined ? param.replaceAll(/\d+/g, '') : CACHE_MARK);
    return parts;
  }
}
