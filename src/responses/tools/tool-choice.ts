import type { Item, Tool } from '../../protocol/index.js';
import { DerivedTurn, type Turn } from '../../providers/index.js';
import { objectsIn } from '../../validation/index.js';

type ToolChoice = Turn['settings']['tool_choice'];

/** A function, as a choice names it. */
export interface NamedFunction {
  readonly type: 'function';
  readonly name: string;
}

/** What a choice is read with. */
interface ChoiceOptions {
  /** The functions that stand for a tool; undefined for a tool of others. Throws ApiError for a tool that there is not. */
  readonly named: (tool: object) => readonly NamedFunction[] | undefined;
  /** Whether the model may call the functions. */
  readonly isOffered: boolean;
  /** Whether a call may still be demanded: in the first pass alone, or it would be demanded for ever. */
  readonly isFirst: boolean;
  /** Whether there is a tool to call. */
  readonly hasTools: boolean;
}

/** What puts functions into a question. */
export interface AskedFunctions extends Omit<ChoiceOptions, 'hasTools'> {
  /** Tools with functions in place of those that the service runs. */
  readonly replace: (tools: readonly object[]) => Tool[];
  /** Items as a model reads them that knows functions alone. */
  readonly readable: (items: readonly Item[]) => readonly Item[];
}

/** The question with functions in its tools, its choice and its context, which is read only when it is asked for. Throws like `named`. */
export function askWithFunctions(question: Turn, { replace, readable, ...options }: AskedFunctions): Turn {
  const tools = replace(question.settings.tools);
  const choice = chooseFunctions(question.settings.tool_choice, { ...options, hasTools: tools.length > 0 });
  const settings = { ...question.settings, tools, tool_choice: choice };
  const parameters = {
    ...question.parameters,
    tools: replace(objectsIn(question.parameters.tools)),
    ...(question.parameters.tool_choice == null ? {} : { tool_choice: choice }),
  };
  return new QuestionWithFunctions(question, settings, parameters, readable);
}

/** The context is only built on access. */
class QuestionWithFunctions extends DerivedTurn {
  readonly input: Turn['input'];
  private read: Turn['context'] | null = null;

  constructor(
    private readonly question: Turn,
    settings: Turn['settings'],
    parameters: Turn['parameters'],
    private readonly readable: AskedFunctions['readable'],
  ) {
    super(question, settings, parameters);
    this.input = readable(question.input);
  }

  get context(): Turn['context'] {
    return (this.read ??= this.readable(this.question.context));
  }
}

/** The choice of a request, with functions in place of the tools that the service runs. */
function chooseFunctions(choice: ToolChoice, { named, isOffered, isFirst, hasTools }: ChoiceOptions): ToolChoice {
  if (typeof choice === 'string') return choice === 'required' && !(isFirst && hasTools) ? 'auto' : choice;
  if (choice.type === 'allowed_tools') {
    const allowed = objectsIn(choice.tools);
    const tools = allowed.flatMap((tool): readonly object[] => {
      const own = named(tool);
      return own === undefined ? [tool] : isOffered ? own : [];
    });
    if (tools.length === 0 && allowed.length > 0) return 'none';
    return { ...choice, mode: isFirst ? choice.mode : 'auto', tools } as unknown as ToolChoice;
  }
  if (!isFirst) return 'auto';
  const own = named(choice);
  if (own === undefined) return choice;
  if (!isOffered || own.length === 0) return 'auto';
  const [first, ...others] = own;
  if (others.length === 0) return first as unknown as ToolChoice;
  return { type: 'allowed_tools', mode: 'required', tools: [first, ...others] } as unknown as ToolChoice;
}
