const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

/** Bodies of `POST /responses` for the API description. */
export const CREATE_EXAMPLES: Readonly<Record<string, object>> = {
  'A text': { model: 'gpt-5', input: 'Hello!' },
  'A stream': { model: 'gpt-5', input: 'Tell me a story.', stream: true },
  'Messages and a function': {
    model: 'gpt-5',
    instructions: 'Answer in one sentence.',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is the weather in Lisbon?' }] }],
    tools: [
      {
        type: 'function',
        name: 'get_weather',
        description: 'The weather of a city.',
        parameters: WEATHER,
        strict: true,
      },
    ],
    tool_choice: 'auto',
  },
  'Structured output': {
    model: 'gpt-5',
    input: 'Which city is the capital of Portugal?',
    text: { format: { type: 'json_schema', name: 'answer', schema: WEATHER, strict: true } },
  },
  'In the background': { model: 'gpt-5', input: 'Write a report.', background: true },
};
