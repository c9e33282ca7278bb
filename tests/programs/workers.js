// SPDX-License-Identifier: MIT
// workers.js - threads that end while others sleep in system calls, and processes between them
const { Worker, isMainThread, workerData } = require('worker_threads');
const cp = require('child_process');
if (isMainThread) {
  let left = 3, sum = 0;
  for (let i = 0; i < 3; i++) {
    const w = new Worker(__filename, { workerData: i });
    w.on('message', m => sum += m);
    w.on('exit', () => { if (--left == 0) console.log('sum ' + sum + ' ' + cp.execSync('echo end').toString().trim()); });
  }
  console.log(cp.execSync('echo main').toString().trim());
} else {
  let s = 0;
  for (let k = 0; k < 200000; k++) s = (s * 31 + k) % 65537;
  cp.execSync('true');
  require('worker_threads').parentPort.postMessage(s + workerData + cp.execSync('echo 5').length);
}
