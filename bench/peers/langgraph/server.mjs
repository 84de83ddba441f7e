// What `langgraphjs dev` starts, without the command line program around it: it would cost memory and do nothing.
import { startServer } from '@langchain/langgraph-api/server';

const [, , data, workers] = process.argv;
const graph = new URL('graph.mjs', import.meta.url).pathname;
const { host } = await startServer({
  port: 0,
  host: '127.0.0.1',
  nWorkers: Number(workers),
  cwd: data,
  graphs: { agent: `${graph}:graph` },
});
process.stdout.write(`langgraph: listening on http://${host}\n`);
