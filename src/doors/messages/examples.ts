const MESSAGES = [{ role: 'user', content: 'What is the weather in Lisbon?' }];

/** Bodies of `POST /messages` for the API description. */
export const MESSAGE_EXAMPLES: Readonly<Record<string, object>> = {
  'A text': { model: 'gpt-5', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello!' }] },
  'A tool': {
    model: 'gpt-5',
    max_tokens: 1024,
    system: 'Answer in one sentence.',
    messages: MESSAGES,
    tools: [
      {
        name: 'get_weather',
        description: 'The weather of a city.',
        input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ],
    tool_choice: { type: 'auto' },
  },
};

/** Bodies of `POST /messages/count_tokens`. */
export const COUNT_EXAMPLES: Readonly<Record<string, object>> = { 'A text': { model: 'gpt-5', messages: MESSAGES } };
