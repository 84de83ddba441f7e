// An agent of one node whose chat model answers at once, as LangGraph has it: messages in the state, tokens through
// the callbacks of the model, a checkpoint after each step.
import { AIMessageChunk } from '@langchain/core/messages';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { tokens } from '../tokens.mjs';

class InstantModel extends BaseChatModel {
  constructor() {
    super({});
  }

  _llmType() {
    return 'instant';
  }

  async _generate() {
    throw new Error('this model only streams');
  }

  async *_streamResponseChunks(messages, _options, manager) {
    const waiting = [];
    let wake = () => {};
    const push = (piece) => {
      waiting.push(piece);
      wake();
    };
    tokens(String(messages.at(-1).content), push, () => push(null));
    for (;;) {
      while (waiting.length === 0) await new Promise((resolve) => (wake = resolve));
      const text = waiting.shift();
      if (text === null) return;
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) });
      yield chunk;
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const model = new InstantModel();

async function agent(state, config) {
  let answer;
  for await (const chunk of await model.stream(state.messages, config)) answer = answer ? answer.concat(chunk) : chunk;
  return { messages: [answer] };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', agent)
  .addEdge('__start__', 'agent')
  .addEdge('agent', '__end__')
  .compile();
