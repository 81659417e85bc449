const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

/** Bodies of `POST /chat/completions` for the API description. */
export const CHAT_EXAMPLES: Readonly<Record<string, object>> = {
  'A text': { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello!' }] },
  'A stream with its usage': {
    model: 'gpt-5',
    messages: [{ role: 'user', content: 'Tell me a story.' }],
    stream: true,
    stream_options: { include_usage: true },
  },
  'Messages and a function': {
    model: 'gpt-5',
    messages: [
      { role: 'developer', content: 'Answer in one sentence.' },
      { role: 'user', content: [{ type: 'text', text: 'What is the weather in Lisbon?' }] },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'The weather of a city.', parameters: WEATHER, strict: true },
      },
    ],
    tool_choice: 'auto',
  },
  'Structured output': {
    model: 'gpt-5',
    messages: [{ role: 'user', content: 'Which city is the capital of Portugal?' }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: WEATHER, strict: true } },
  },
};
