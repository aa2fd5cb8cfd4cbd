#!/usr/bin/env node
// The key tool as an installed command (`npm link`). run.mjs finds a Node.js that can run it.
process.argv.splice(2, 0, 'keys');
await import('./run.mjs');
