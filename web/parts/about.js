/**
 * What was loaded, how it runs and why, as terms and texts.
 *
 * @import { Info } from '../lib/messages.js'
 */

import { count, megabytes, seconds } from './format.js';

/**
 * @param {HTMLElement} list A <dl>.
 * @param {Info} info
 */
export function showFacts(list, info) {
  const { milliseconds: times, model: about } = info;
  const facts = [
    ['Model', `${about.name}, ${about.architecture}, ${megabytes(about.weightBytes)} of weights`],
    ['Parameters', about.nParameters.toLocaleString('en')],
    ['From', info.source],
    ['Build', `${info.build}: ${info.buildReason}`],
    ['Kernels', info.level],
    ['Threads', `${info.threads}: ${info.threadsReason}`],
    ['Context', count(info.context, 'token')],
    ['Memory', megabytes(info.memoryBytes)],
    ['Loaded in', `${seconds(times.total)}, of which weights ${seconds(times.weights)}`],
  ];
  const rows = facts.flatMap(([term, text]) => {
    const [dt, dd] = [document.createElement('dt'), document.createElement('dd')];
    dt.textContent = term;
    dd.textContent = text;
    return [dt, dd];
  });
  list.replaceChildren(...rows);
}
