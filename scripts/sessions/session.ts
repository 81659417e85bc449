import type OpenAI from 'openai';

/** A turn as its session saw it. */
interface Turn {
  readonly id: string;
  readonly said: string;
  readonly inputTokens: number;
}

/** What only this session ever says. */
const MARK = /mark-\d+-/g;

/** One of many sessions at once: it takes turns, then looks at everything that is stored in its name. */
export class Session {
  readonly name: string;
  private readonly mark: string;
  private readonly turns: Turn[] = [];
  private readonly client: OpenAI;
  private readonly model: string;

  /** A session with a number of its own; `run` keeps its name apart from those of earlier runs. */
  constructor(client: OpenAI, model: string, { run, number }: { readonly run: string; readonly number: number }) {
    this.client = client;
    this.model = model;
    this.mark = `mark-${String(number).padStart(6, '0')}-`;
    this.name = `load-${run}-${number}`;
  }

  /** Takes one turn that continues the last one. Throws when it fails, or shows what another session said. */
  async say(): Promise<void> {
    const said = `${this.mark} says this in turn ${this.turns.length + 1}.`;
    const { id, status, output_text, usage } = await this.client.responses.create(
      { model: this.model, input: said, previous_response_id: this.turns.at(-1)?.id ?? null },
      { headers: { 'x-session-id': this.name } },
    );
    if (status !== 'completed') throw new Error(`${this.name}: ${id} is ${status}`);
    this.requireOwn(output_text, id);
    const inputTokens = usage?.input_tokens ?? 0;
    const before = this.turns.at(-1)?.inputTokens ?? 0;
    if (inputTokens <= before) throw new Error(`${this.name}: ${id} was made without the turns before it`);
    this.turns.push({ id, said, inputTokens });
  }

  /** Looks at its list and at each of its responses. Throws unless they are what it said, all of it, and nothing else. */
  async check(): Promise<void> {
    const list = await this.client.get<{ readonly data: readonly { readonly id: string }[] }>(
      `/sessions/${this.name}/responses?order=asc&limit=100`,
    );
    const listed = list.data.map(({ id }) => id).join();
    if (listed !== this.turns.map(({ id }) => id).join()) throw new Error(`${this.name}: its list is ${listed}`);
    for (const { id, said } of this.turns) {
      this.requireOwn((await this.client.responses.retrieve(id)).output_text, id);
      const items = JSON.stringify((await this.client.responses.inputItems.list(id)).data);
      this.requireOwn(items, id);
      if (!items.includes(said)) throw new Error(`${this.name}: ${id} has lost its input`);
    }
  }

  /** Asks for its responses as another tenant. Throws unless they do not exist there. */
  async requireHidden(stranger: OpenAI): Promise<void> {
    for (const { id } of this.turns) {
      const { status } = await stranger.responses
        .retrieve(id)
        .asResponse()
        .catch((error: unknown) => error as Response);
      if (status !== 404) throw new Error(`${this.name}: another tenant gets ${status} for ${id}, not 404`);
    }
  }

  private requireOwn(text: string, id: string): void {
    const foreign = text.match(MARK)?.find((mark) => mark !== this.mark);
    if (foreign !== undefined) throw new Error(`${this.name}: ${id} shows what another session said: ${foreign}`);
  }
}
