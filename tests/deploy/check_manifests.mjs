// Reads {kind, apiVersion, …} objects as JSON lines and holds each to the schema of its kind.
import { createInterface } from "node:readline";

let wrong = 0;
let seen = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const object = JSON.parse(line);
  const name = `${object.kind} ${object.metadata?.name}`;
  seen += 1;
  try {
    const models = await import(`kubernetes-models/${object.apiVersion}`);
    const Model = models[object.kind];
    if (!Model) throw new Error(`${object.apiVersion} has no ${object.kind}`);
    new Model(object).validate();
  } catch (error) {
    wrong += 1;
    console.error(`${name}: ${error.message}`);
  }
}
console.log(`${seen} objects, ${wrong} wrong`);
process.exit(wrong === 0 && seen > 0 ? 0 : 1);
