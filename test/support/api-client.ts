import { Refusal, type WireResponse } from './transport.js';

/** What an HTTP client got back. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

type HeaderTexts = Readonly<Record<string, string>>;

/** The API as a bare HTTP client sees it: JSON both ways, and paths below a base URL such as that of a service. */
export class ApiClient {
  constructor(
    readonly baseURL: string,
    private readonly headers: HeaderTexts = {},
  ) {}

  /** The same with headers that every request has. */
  with(headers: HeaderTexts): ApiClient {
    return new ApiClient(this.baseURL, { ...this.headers, ...headers });
  }

  get(path: string): Promise<ApiAnswer> {
    return this.send('GET', path);
  }

  post(path: string, body: unknown): Promise<ApiAnswer> {
    return this.send('POST', path, body);
  }

  delete(path: string): Promise<ApiAnswer> {
    return this.send('DELETE', path);
  }

  /** Runs a turn to its end. Rejects with Refusal when it is refused. */
  async create(body: object): Promise<WireResponse> {
    const { status, body: answer } = await this.post('responses', { model: 'scripted', input: 'Hi', ...body });
    if (status !== 200) throw new Refusal(status, answer);
    return answer as WireResponse;
  }

  /** The ids in a list, in its order. Throws when there is an error instead. */
  async idsOf(path: string): Promise<readonly string[]> {
    const { status, body } = await this.get(path);
    if (status !== 200) throw new Refusal(status, body);
    return (body['data'] as readonly { readonly id: string }[]).map(({ id }) => id);
  }

  /** Sends a request, with a form or a JSON body if there is one. */
  async send(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const isJson = body !== undefined && !(body instanceof FormData);
    const answer = await fetch(`${this.baseURL}/${path}`, {
      method,
      headers: { ...this.headers, ...(isJson ? { 'content-type': 'application/json' } : {}) },
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : body }),
    });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as ApiAnswer['body'] };
  }
}
