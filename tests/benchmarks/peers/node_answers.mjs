// Answers prompts with node-llama-cpp. Reads a task as JSON from the standard input, and prints what it took; called by
// compare.py.
import { readFileSync } from "node:fs";
import { getLlama, LlamaCompletion, LlamaLogLevel } from "node-llama-cpp";

const task = JSON.parse(readFileSync(0, "utf8"));
const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.disabled, maxThreads: task.threads });
const model = await llama.loadModel({ modelPath: task.model });
const context = await model.createContext({
    sequences: task.sequences,
    contextSize: task.cells,
    threads: task.threads,
});
const completions = Array.from({ length: task.sequences }, () => new LlamaCompletion({ contextSequence: context.getSequence() }));

let promptTokens = 0;
let newTokens = 0;

async function answer(completion, prompt) {
    const tokens = model.tokenize(prompt);
    const answered = await completion.generateCompletion(tokens, { maxTokens: task.new_tokens, temperature: 0 });
    promptTokens += tokens.length;
    newTokens += model.tokenize(answered).length;
}

await answer(completions[0], "Before the clock runs");
promptTokens = 0;
newTokens = 0;
const waiting = task.prompts.values();
const began = performance.now();
await Promise.all(completions.map(async (completion) => {
    for (const prompt of waiting) {
        await answer(completion, prompt);
    }
}));
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000, prompt_tokens: promptTokens, new_tokens: newTokens }));
process.exit(0);
